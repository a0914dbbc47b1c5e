"""The unit for systemd: it verifies, is hardened, and starts with a valid configuration."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lanewatch.config.loading import load_config

from tests.deploy.manifests import DEPLOY, loaded

FOLDER = DEPLOY / "systemd"
UNIT = FOLDER / "lanewatch.service"
TEXT = UNIT.read_text()
EXPOSURE = 15  # of 100, as systemd-analyze rates it: 10 to 20 is what it calls OK
with_systemd = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="systemd-analyze: apt-get install systemd"
)


def values(key: str) -> list[str]:
    """Every value of a key, in order; commented ones are none."""
    return re.findall(rf"^{key}=(.*)$", TEXT, re.MULTILINE)


def environment(state: str) -> dict[str, str]:
    """The variables, with the folder that systemd would make."""
    return dict(one.replace("%S", state).split("=", 1) for one in values("Environment"))


@with_systemd
def test_systemd_takes_it(tmp_path: Path) -> None:
    """`systemd-analyze verify`, with a program that is there."""
    unit = tmp_path / UNIT.name
    unit.write_text(TEXT.replace("/opt/lanewatch/bin/lanewatch", sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


@with_systemd
def test_it_is_hardened() -> None:
    """By systemd's own rating of what a service could do."""
    command = ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", "--no-pager", str(UNIT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stdout[-300:]


def test_it_starts_with_a_valid_configuration_and_time_to_drain(tmp_path: Path) -> None:
    """File and variables together; what survives lies in the folder that systemd makes, and memory stays below its limit."""
    config = loaded((FOLDER / "lanewatch.toml").read_text(), environment(str(tmp_path)), tmp_path)
    (limit,) = values("MemoryMax")

    assert float(values("TimeoutStopSec")[0]) > config.shutdown.drain_seconds + 5
    assert values("StateDirectory") == ["lanewatch"]
    folder = f"/var/lib/{values('StateDirectory')[0]}/"
    assert all(path.startswith(folder) for path in (config.drift.state_folder, config.handoff.file, config.judge.store))
    assert limit == "1G"
    assert config.limits.memory_hard_bytes + config.judge.worker_memory_bytes <= 2**30


def test_a_faulty_configuration_is_not_started_again_and_again() -> None:
    """Status 2 is what a fault of the configuration ends with; SIGTERM comes once, since a second one ends it at once."""
    assert values("RestartPreventExitStatus") == ["2"]
    assert values("KillMode") == ["mixed"]
    assert values("DynamicUser") == ["yes"]


def test_the_secret_that_it_shows_how_to_give_is_a_setting(tmp_path: Path) -> None:
    """The commented line works once it is uncommented."""
    (commented,) = re.findall(r"^#Environment=(\w+)=%d/(\w+)$", TEXT, re.MULTILINE)
    (credential,) = re.findall(r"^#LoadCredential=(\w+):", TEXT, re.MULTILINE)
    secret = tmp_path / credential
    secret.write_text("token\n")

    assert commented[1] == credential
    assert load_config(None, {commented[0]: str(secret)}).receivers.bearer_token is not None
