"""The sidecar's side of the judge: it draws, stores, tells and exports; and the commands that try a judge."""
