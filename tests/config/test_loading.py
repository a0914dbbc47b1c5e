"""The configuration: precedence, secrets, and every fault named at once with place, kind and remedy."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanewatch.config.loading import Config, ConfigFaults, load_config
from lanewatch.config.reference import defaults_toml, describe
from lanewatch.config.values import is_loopback
from pydantic import ValidationError

CANARY = "canary-3f9c"


def faults(path: Path | None = None, **environ: str) -> list[str]:
    """Every fault as printed; none where the configuration is valid."""
    try:
        load_config(path, environ)
    except ConfigFaults as error:
        return [str(fault) for fault in error.faults]
    return []


def written(folder: Path, text: str) -> Path:
    """Write a configuration file."""
    path = folder / "lanewatch.toml"
    path.write_text(text)
    return path


def test_without_file_and_variables_the_defaults_hold() -> None:
    """Nothing has to be configured, and everything binds the loopback address."""
    config = load_config(None, {"PATH": "/bin", "HOME": "/"})

    assert config == Config()
    assert {config.receivers.grpc_host, config.receivers.http_host, config.metrics.host} == {"127.0.0.1"}
    assert config.warnings() == []


def test_a_variable_overrides_the_file_and_the_file_the_default(tmp_path: Path) -> None:
    """Environment over file over default, key by key."""
    path = written(tmp_path, "[metrics]\nport = 9000\nmax_tools = 7\n")

    config = load_config(path, {"LANEWATCH_METRICS_PORT": "9001"})

    assert (config.metrics.port, config.metrics.max_tools, config.metrics.max_services) == (9001, 7, 20)


def test_a_variable_reaches_a_key_that_holds_underscores() -> None:
    """One underscore separates section and key, and more stand in the key."""
    config = load_config(None, {"LANEWATCH_ASSEMBLER_QUIET_AFTER_ROOT_SECONDS": " 0.5 "})

    assert config.assembler.quiet_after_root_seconds == 0.5


def test_every_key_has_a_variable_and_a_default_that_is_valid() -> None:
    """Each row of the reference can be set through the environment to what it says is the default."""
    environ = {row.variable: row.default.strip('"') for row in describe() if not row.secret}

    assert load_config(None, environ) == Config()
    secrets = {row.variable for row in describe() if row.secret}
    assert len({row.variable for row in describe()}) == len(describe()) == len(environ) + len(secrets)
    assert "LANEWATCH_RECEIVERS_BEARER_TOKEN" in secrets


def test_the_printed_defaults_are_a_valid_file_that_changes_nothing(tmp_path: Path) -> None:
    """`check-config --defaults > lanewatch.toml` is a start that is safe to take."""
    document = tomllib.loads(defaults_toml())

    assert load_config(written(tmp_path, defaults_toml()), {}) == Config()
    assert {f"{section}.{key}" for section, table in document.items() for key in table} == {
        row.name for row in describe() if not row.secret
    }


def test_every_setting_has_a_meaning_and_its_unit_in_its_name() -> None:
    """The table for the documentation has no holes."""
    rows = describe()

    assert all(row.meaning.endswith(".") and row.wanted for row in rows)
    assert {row.unit for row in rows if "bytes" in row.key} == {"bytes"}
    assert {row.unit for row in rows if "seconds" in row.key} == {"seconds"}


def test_a_configuration_cannot_be_changed() -> None:
    """Parts may keep a section without fearing that somebody changes it."""
    with pytest.raises(ValidationError):
        load_config(None, {}).metrics.port = 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[metric]\nport = 1\n", "metric: no such section; did you mean metrics?"),
        ("[metrics]\nprt = 1\n", "metrics.prt: no such key; did you mean port?"),
        ("[limits]\nmax_tools = 1\n", "limits.max_tools: no such key in this section; did you mean metrics.max_tools?"),
        ("[log]\nqqq = 1\n", "log.qqq: no such key; [log] takes level, format"),
        ("metrics = 1\n", "metrics: the value is an integer, not a table; write [metrics]"),
        ('"a\\u001b[2Jb" = 1\n', "a\\x1b[2Jb: no such section; sections are receivers, limits, "),
        (
            '[metrics]\nport = "9464"\n',
            "metrics.port: the value is text; set an integer from 0 to 65535 (the default is 9464)",
        ),
        ("[metrics]\nport = true\n", "metrics.port: the value is a boolean; "),
        ("[metrics]\nport = 1.0\n", "metrics.port: the value is a number; "),
        ("[metrics]\nport = 65536\n", "metrics.port: the value is an integer out of range; "),
        ("[metrics]\nport = [1]\n", "metrics.port: the value is an array; "),
        ("[metrics]\nport = 2026-01-01\n", "metrics.port: the value is a date or time; "),
        ("[metrics]\nport = {a = 1}\n", "metrics.port: the value is a table; "),
        (
            "[metrics]\nmax_tools = 0\n",
            "metrics.max_tools: the value is an integer out of range; set an integer from 1 ",
        ),
        ('[metrics]\nhost = ""\n', "metrics.host: the value is empty; set an IP address or host name"),
        ('[metrics]\nhost = "[::1]"\n', "metrics.host: the value is text; "),
        ('[metrics]\nhost = "localhost:9464"\n', "metrics.host: the value is text; "),
        (
            '[log]\nlevel = "INFO"\n',
            'log.level: the value is text; set one of "debug", "info", "warning", "error" (the d',
        ),
        (
            "[shutdown]\ndrain_seconds = 0\n",
            "shutdown.drain_seconds: the value is a number out of range; set a number above 0 ",
        ),
        (
            "[assembler]\ntrace_timeout_seconds = -1\n",
            "assembler.trace_timeout_seconds: the value is a number out of range; set a number above 0 ",
        ),
        ("[shutdown]\ndrain_seconds = nan\n", "shutdown.drain_seconds: the value is a number out of range; "),
        ("[shutdown]\ndrain_seconds = inf\n", "shutdown.drain_seconds: the value is a number out of range; "),
        (
            "[limits]\nmax_request_bytes = 2147483648\n",
            "limits.max_request_bytes: the value is an integer out of range; ",
        ),
        (
            "[limits]\nmemory_soft_bytes = 6\nmemory_hard_bytes = 5\n",
            "limits.memory_soft_bytes: 6 is above limits.memory_hard_bytes, which is 5; lower it or raise limits.memory",
        ),
        (
            "[limits]\nmax_in_flight_bytes = 9\n",
            "limits.max_request_bytes: 67108864 is above limits.max_in_flight_bytes",
        ),
        (
            "[limits]\nmax_value_bytes = 67108865\n",
            "limits.max_value_bytes: 67108865 is above limits.max_request_bytes",
        ),
        ("[assembler]\nmax_open_bytes = 9\n", "assembler.max_trace_bytes: 16777216 is above assembler.max_open_bytes"),
        (
            "[assembler]\ntrace_timeout_seconds = 1\n",
            "assembler.quiet_after_root_seconds: 7.0 is above assembler.trace_timeout_seconds, which is 1.0; ",
        ),
        ("[metrics]\nport = 4317\n", "receivers.grpc_port: port 4317 is also that of metrics.port; give each listener"),
        ("[receivers]\nhttp_port = 4317\n", "receivers.grpc_port: port 4317 is also that of receivers.http_port; "),
    ],
)
def test_a_fault_names_place_kind_and_remedy(tmp_path: Path, text: str, expected: str) -> None:
    """One faulty file, one fault, in words that say what to do."""
    found = faults(written(tmp_path, text))

    assert len(found) == 1
    assert found[0].startswith(expected)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("LANEWATCH_METRICS_PROT", "1", "no such variable; did you mean LANEWATCH_METRICS_PORT?"),
        ("LANEWATCH_ZZZZ", "1", "no such variable; `lanewatch check-config --defaults` lists what can be set"),
        ("LANEWATCH_METRICS_PORT", "", "the value is empty; set an integer from 0 to 65535"),
        ("LANEWATCH_METRICS_PORT", "x", "the value is text; set an integer"),
        ("LANEWATCH_METRICS_PORT", "1.0", "the value is text; set an integer"),
        ("LANEWATCH_METRICS_PORT", "1_000", "the value is text; set an integer"),
        ("LANEWATCH_METRICS_PORT", "-1", "the value is an integer out of range; set an integer"),
        ("LANEWATCH_SHUTDOWN_DRAIN_SECONDS", "nan", "the value is text; set a number"),
        ("LANEWATCH_ASSEMBLER_MAX_OPEN_BYTES", "9", None),
    ],
)
def test_a_faulty_variable_is_named_by_its_name(name: str, value: str, expected: str | None) -> None:
    """Who set a variable looks for the variable; where two keys disagree both are named as they were set."""
    found = faults(None, **{name: value})

    assert len(found) == 1
    assert found[0].startswith(f"{name}: {expected}") if expected else name in found[0]


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    """Mending one fault must not reveal the next."""
    path = written(
        tmp_path,
        "[metric]\n[metrics]\nport = 'x'\nprt = 1\n[limits]\nmemory_soft_bytes = 6\nmemory_hard_bytes = 5\n",
    )

    found = faults(
        path, LANEWATCH_X_Y="1", LANEWATCH_RECEIVERS_HTTP_PORT="4317", LANEWATCH_RECEIVERS_BEARER_TOKEN_FILE="/nowhere"
    )

    assert [fault.split(":")[0] for fault in found] == [
        "metric",
        "LANEWATCH_X_Y",
        "LANEWATCH_RECEIVERS_BEARER_TOKEN_FILE",
        "metrics.port",
        "metrics.prt",
        "limits.memory_soft_bytes",
        "receivers.grpc_port",
    ]


def test_malformed_toml_is_told_with_line_and_column(tmp_path: Path) -> None:
    """The place in the file is what one needs."""
    (found,) = faults(written(tmp_path, "[metrics]\nport = = 1\n"))

    assert "malformed" in found
    assert "(at line 2, column 8)" in found


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a = " + b"[" * 5000, b"a = " + b"9" * 5000, b"#" * (2**20 + 1)])
def test_a_file_that_no_settings_can_be_read_from_is_one_fault(tmp_path: Path, content: bytes) -> None:
    """Not UTF-8, nested without end, a number without end, too long: a fault, never a traceback."""
    path = tmp_path / "lanewatch.toml"
    path.write_bytes(content)

    assert len(faults(path)) == 1


def test_a_missing_file_or_a_folder_is_a_fault(tmp_path: Path) -> None:
    """The path stands in it, with what the system said."""
    assert faults(tmp_path / "none.toml") == [
        f"{tmp_path}/none.toml: the file can't be read (No such file or directory); name a file that this user may read"
    ]
    assert "Is a directory" in faults(tmp_path)[0]


def test_an_unread_file_does_not_make_its_keys_disagree(tmp_path: Path) -> None:
    """What fits the file's other value would look wrong against its default."""
    path = written(tmp_path, "[metrics")

    assert len(faults(path, LANEWATCH_METRICS_PORT="4317")) == 1


@pytest.mark.parametrize("source", ["variable", "variable_file", "key", "key_file"])
def test_a_secret_may_be_given_or_named_as_a_file(tmp_path: Path, source: str) -> None:
    """Four ways to the same token; a file's line end does not belong to it, its relative name starts at the TOML."""
    (tmp_path / "token").write_text(f"{CANARY}\n")
    text = {"key": f'bearer_token = "{CANARY}"', "key_file": 'bearer_token_file = "token"'}.get(source, "")
    environ = {
        "variable": {"LANEWATCH_RECEIVERS_BEARER_TOKEN": CANARY},
        "variable_file": {"LANEWATCH_RECEIVERS_BEARER_TOKEN_FILE": str(tmp_path / "token")},
    }.get(source, {})

    token = load_config(written(tmp_path, f"[receivers]\n{text}\n"), environ).receivers.bearer_token

    assert token is not None
    assert token.get_secret_value() == CANARY


def test_the_environment_s_secret_replaces_the_file_s_in_either_form(tmp_path: Path) -> None:
    """An overridden key is not read at all, so that its file may be missing."""
    path = written(tmp_path, '[receivers]\nbearer_token_file = "missing"\n')

    token = load_config(path, {"LANEWATCH_RECEIVERS_BEARER_TOKEN": CANARY}).receivers.bearer_token

    assert token is not None
    assert token.get_secret_value() == CANARY


def test_two_forms_of_a_secret_in_one_place_are_a_fault(tmp_path: Path) -> None:
    """Which one counts would be a guess."""
    (tmp_path / "token").write_text(CANARY)
    path = written(tmp_path, '[receivers]\nbearer_token_file = "token"\nbearer_token = "x"\n')

    assert faults(path) == ["receivers.bearer_token_file: receivers.bearer_token is set too; set one of the two"]


@pytest.mark.parametrize("token", ["", "\n", f"{CANARY} x", f"{CANARY}\nx", f"ä{CANARY}", CANARY * 1000])
def test_a_token_that_no_header_can_carry_is_a_fault(tmp_path: Path, token: str) -> None:
    """An empty one would switch the check off, the others would refuse every client; none is shown."""
    (tmp_path / "token").write_text(token)

    (found,) = faults(None, LANEWATCH_RECEIVERS_BEARER_TOKEN_FILE=str(tmp_path / "token"))

    assert found.startswith("LANEWATCH_RECEIVERS_BEARER_TOKEN_FILE: ")
    assert CANARY not in found


def test_no_error_path_shows_a_value(tmp_path: Path) -> None:
    """A secret may stand where it does not belong: no fault, its representation or its cause holds it."""
    path = written(
        tmp_path,
        f'[receivers]\nbearer_token = ["{CANARY}"]\nhttp_host = "{CANARY} "\n[metrics]\nport = "{CANARY}"\n'
        f'[log]\nlevel = "{CANARY}"\n',
    )
    environ = dict.fromkeys(["LANEWATCH_LIMITS_MAX_DEPTH", "LANEWATCH_RECEIVERS_BEARER_TOKEN_FILE"], CANARY)

    with pytest.raises(ConfigFaults) as caught:
        load_config(path, environ | {"LANEWATCH_NOPE": CANARY})

    assert len(caught.value.faults) == 6
    assert CANARY not in f"{caught.value} {caught.value!r} {caught.value.faults!r}"
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_a_secret_prints_as_asterisks() -> None:
    """Whoever logs the configuration logs no secret."""
    config = load_config(None, {"LANEWATCH_RECEIVERS_BEARER_TOKEN": CANARY})

    assert CANARY not in f"{config} {config!r} {config.model_dump()} {config.model_dump_json()}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LANEWATCH_SERVICE_HOST", "10.0.0.7"),
        ("LANEWATCH_SERVICE_PORT", "4317"),
        ("LANEWATCH_SERVICE_PORT_OTLP_GRPC", "4317"),
        ("LANEWATCH_GATEWAY_SERVICE_HOST", "10.0.0.7"),
        ("LANEWATCH_PORT", "tcp://10.0.0.7:4317"),
        ("LANEWATCH_PORT_4317_TCP", "tcp://10.0.0.7:4317"),
        ("LANEWATCH_PORT_4317_TCP_PROTO", "tcp"),
        ("LANEWATCH_PORT_4317_TCP_PORT", "4317"),
        ("LANEWATCH_PORT_4317_TCP_ADDR", "10.0.0.7"),
        ("LANEWATCH_METRICS_PORT", "tcp://10.0.0.7:9464"),
        ("LANEWATCH_CONFIG", "/etc/lanewatch.toml"),
    ],
)
def test_variables_that_kubernetes_sets_for_services_are_no_settings(name: str, value: str) -> None:
    """A Service called lanewatch must not keep Lanewatch's own containers from starting."""
    assert load_config(None, {name: value}) == Config()


@pytest.mark.parametrize(
    ("hosts", "clash"),
    [
        (("127.0.0.1", "127.0.0.1"), True),
        (("127.0.0.1", "127.0.0.2"), False),
        (("127.0.0.1", "0.0.0.0"), True),
        (("::", "127.0.0.1"), True),
        (("localhost", "127.0.0.1"), True),
        (("::1", "localhost"), True),
        (("localhost", "10.0.0.1"), False),
    ],
)
def test_listeners_clash_where_their_addresses_overlap(tmp_path: Path, hosts: tuple[str, str], clash: bool) -> None:
    """The same port on two addresses is fine."""
    text = f'[receivers]\ngrpc_host = "{hosts[0]}"\nbearer_token = "x"\n[metrics]\nhost = "{hosts[1]}"\nport = 4317\n'

    assert bool(faults(written(tmp_path, text))) is clash


def test_port_0_clashes_with_nothing() -> None:
    """0 takes any free port, for each listener another."""
    ports = ("LANEWATCH_RECEIVERS_GRPC_PORT", "LANEWATCH_RECEIVERS_HTTP_PORT", "LANEWATCH_METRICS_PORT")

    assert faults(None, **dict.fromkeys(ports, "0")) == []


def test_binding_beyond_loopback_without_a_token_is_a_warning() -> None:
    """It is allowed, and named by the setting; with a token there is nothing to warn of."""
    environ = {"LANEWATCH_RECEIVERS_GRPC_HOST": "0.0.0.0"}

    (warning,) = load_config(None, environ).warnings()

    assert warning.startswith("receivers.grpc_host is not a loopback address and receivers.bearer_token is not set")
    assert load_config(None, environ | {"LANEWATCH_RECEIVERS_BEARER_TOKEN": "x"}).warnings() == []


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("lanewatch.internal", False),
    ],
)
def test_loopback_is_what_only_this_machine_reaches(host: str, expected: bool) -> None:
    """A name that is not `localhost` is taken to be reachable."""
    assert is_loopback(host) is expected


@given(
    st.dictionaries(
        st.sampled_from([row.variable for row in describe()]) | st.text().map("LANEWATCH_".__add__), st.text()
    )
)
def test_no_environment_raises_anything_but_faults(environ: dict[str, str]) -> None:
    """Whatever stands in the variables, the answer is a configuration or faults."""
    assert isinstance(faults(None, **environ), list)
