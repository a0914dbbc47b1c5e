"""The command line: verbs, options and exit statuses, and nothing that does the work."""
