import contextlib
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veridical.errors import InputError, UsageError
from veridical.models.metered import Price
from veridical.models.openai_compatible import OpenAICompatible
from veridical.models.providers import endpoint, price_of, providers
from veridical.models.wire import Dialect


@pytest.fixture
def own(tmp_path):
    """Write a user's providers file; gives the environment that names it."""

    def write(text: str) -> dict[str, str]:
        path = tmp_path / "providers.toml"
        path.write_text(text, encoding="utf-8")
        return {"VERIDICAL_PROVIDERS": str(path)}

    return write


def nothing(tmp_path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def test_every_provider_of_the_table_makes_a_client(tmp_path):
    known = providers(nothing(tmp_path))
    assert {"openai", "anthropic", "google", "openrouter", "together", "groq", "mistral"} <= set(known)
    assert {"deepseek", "fireworks", "vllm", "ollama", "llamacpp", "lmstudio"} <= set(known)
    for name, provider in known.items():
        environ = nothing(tmp_path) | dict.fromkeys(provider.key, "sk-test")
        place = endpoint(f"{name}/some/model", environ)
        assert place.model == "some/model"
        client = OpenAICompatible(place.base_url, place.model, name=place.name, dialect=place.dialect)
        assert client.base_url == provider.base_url  # as it is, nothing to be put right
        assert provider.local == provider.base_url.startswith("http://127.0.0.1:")
        assert not provider.models or provider.prices_as_of


def test_a_missing_key_names_its_variable(tmp_path):
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        endpoint("openai/gpt-4o", nothing(tmp_path))
    with pytest.raises(UsageError, match="GEMINI_API_KEY or GOOGLE_API_KEY"):
        endpoint("google/gemini-2.5-flash", nothing(tmp_path) | {"GEMINI_API_KEY": ""})
    assert endpoint("google/g", nothing(tmp_path) | {"GOOGLE_API_KEY": "sk-1"}).api_key == "sk-1"
    assert endpoint("vllm/m", nothing(tmp_path)).api_key is None


def test_the_key_is_not_shown(tmp_path):
    place = endpoint("openai/gpt-4o", nothing(tmp_path) | {"OPENAI_API_KEY": "sk-secret"})
    assert place.api_key == "sk-secret"
    assert "secret" not in repr(place) + str(place)


def test_an_unknown_provider_lists_the_known_ones(tmp_path):
    with pytest.raises(UsageError, match=r"unknown provider 'opnai'; known: anthropic, .*openai.*vllm"):
        endpoint("opnai/gpt-4o", nothing(tmp_path))
    for spec in ("gpt-4o", "openai/", ""):
        with pytest.raises(UsageError, match="no model name"):
            endpoint(spec, nothing(tmp_path))


@example("http://[#m")
@given(st.text(max_size=30) | st.text("htps:/#[]@.1a", max_size=20).map("http://{}".format))
def test_any_name_is_an_endpoint_or_a_usage_error(name):
    environ = {"HOME": "/nowhere", "OPENAI_API_KEY": "k"}
    price_of(name, environ)
    for spec in (name, f"openai/{name}"):
        with contextlib.suppress(UsageError):
            assert endpoint(spec, environ).model


def test_an_address_with_a_model(tmp_path):
    place = endpoint("http://10.0.0.7:8000/v1#org/judge", nothing(tmp_path))
    assert (place.name, place.base_url, place.model) == (
        "10.0.0.7:8000/org/judge",
        "http://10.0.0.7:8000/v1",
        "org/judge",
    )
    assert (place.api_key, place.price) == (None, Price(prompt=0.0, completion=0.0))
    far = endpoint("https://llm.example.org/v1#m", {"VERIDICAL_API_KEY": "k", **nothing(tmp_path)})
    assert (far.name, far.api_key, far.price) == ("llm.example.org/m", "k", None)
    for spec in ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1#", "http://#m"):
        with pytest.raises(UsageError, match="after '#'"):
            endpoint(spec, nothing(tmp_path))


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("openai/gpt-4o-mini", (0.15, 0.6)),
        ("openai/gpt-4o-mini-2024-07-18", (0.15, 0.6)),
        ("openai/gpt-4o", (2.5, 10.0)),
        ("openai/gpt-5", (1.25, 10.0)),
        ("anthropic/claude-haiku-4-5-20251001", (1.0, 5.0)),
        ("openai/gpt-5-pro", None),  # dearer than gpt-5: a name that begins alike is another model
        ("openai/gpt-4o-audio-preview", None),
        ("openai/unheard-of", None),
        ("together/m", None),
        ("scripted", None),
        ("nobody/m", None),
        ("ollama/llama", (0.0, 0.0)),
        ("llamacpp/file@01234567", (0.0, 0.0)),
        ("embedded/smollm2", (0.0, 0.0)),
        ("hf/org/name", (0.0, 0.0)),
        ("127.0.0.1/judge", (0.0, 0.0)),
        ("llm.example.org/judge", None),
    ],
)
def test_prices(name, price, tmp_path):
    found = price_of(name, nothing(tmp_path))
    assert (found and (found.prompt, found.completion)) == price


def test_dialects(tmp_path):
    keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GROQ_API_KEY": "k", **nothing(tmp_path)}
    assert endpoint("openai/gpt-4o", keys).dialect.max_tokens_field == "max_completion_tokens"
    claude = endpoint("anthropic/claude-opus-5-5", keys).dialect
    assert (claude.json_schema, claude.seed, claude.max_top_logprobs) == (None, False, 0)
    assert endpoint("groq/m", keys).dialect.max_top_logprobs == 0


def test_e5_ollama_has_the_window_it_is_run_with(tmp_path):
    assert endpoint("ollama/m", nothing(tmp_path)).dialect.context_window == 4096
    larger = endpoint("ollama/m", nothing(tmp_path) | {"OLLAMA_CONTEXT_LENGTH": "32768"})
    assert larger.dialect.context_window == 32768
    with pytest.raises(UsageError, match="OLLAMA_CONTEXT_LENGTH='much'"):
        endpoint("ollama/m", nothing(tmp_path) | {"OLLAMA_CONTEXT_LENGTH": "much"})


def test_users_add_providers_and_change_known_ones(own):
    environ = own("""
        [mine]
        base_url = "https://llm.example.org/v1"
        key = ["MINE_KEY"]
        models = { "big" = { price_in = 1.0, price_out = 2.0, temperature = false } }

        [openai.models."gpt-4o"]
        price_in = 9.0

        [ollama]
        base_url = "http://10.1.1.1:11434/v1"
        dialect = { context_window = false }
    """)
    place = endpoint("mine/big", environ | {"MINE_KEY": "k"})
    assert (place.base_url, place.price) == ("https://llm.example.org/v1", Price(prompt=1.0, completion=2.0))
    assert place.dialect.temperature is False
    assert price_of("openai/gpt-4o", environ) == Price(prompt=9.0, completion=10.0)
    assert price_of("openai/gpt-4o-mini", environ) == Price(prompt=0.15, completion=0.6)
    changed = endpoint("ollama/m", environ)
    assert (changed.base_url, changed.dialect.context_window) == ("http://10.1.1.1:11434/v1", None)


def test_a_dated_version_may_have_a_price_of_its_own(own):
    environ = own("""
        [mine]
        base_url = "http://127.0.0.1:1/v1"
        local = true
        models = { "m-2024" = { price_in = 2.0 }, "m" = { price_in = 1.0 }, "m-2024-latest" = { price_in = 3.0 } }
    """)
    names = ("m", "m-2023", "m-2024", "m-2024-latest")
    prices = [price_of(f"mine/{name}", environ) for name in names]
    assert [price and price.prompt for price in prices] == [1.0, 1.0, 2.0, 3.0]


def test_the_users_file_at_its_usual_place(tmp_path):
    folder = tmp_path / ".config" / "veridical"
    folder.mkdir(parents=True)
    (folder / "providers.toml").write_text('[mine]\nbase_url = "http://127.0.0.1:1/v1"\nlocal = true\n', "utf-8")
    assert "mine" in providers({"HOME": str(tmp_path)})
    assert "mine" in providers({"XDG_CONFIG_HOME": str(tmp_path / ".config"), "HOME": "/nowhere"})
    assert "mine" not in providers({"HOME": str(tmp_path / "other")})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[mine", "Expected"),
        ("mine = 3", "must be a table"),
        ('[mine]\nlocal = true\nbase = "x"', "unknown field `base`"),
        ('[mine]\nlocal = true\nbase_url = "ftp://x"', "http://"),
        ('[mine]\nbase_url = "http://x/v1"', "key variable"),
        ('[mine]\nbase_url = "http://x/v1"\nlocal = true\ndialect = { temprature = false }', "temprature"),
        ('[mine]\nbase_url = "http://x/v1"\nlocal = true\ndialect = { seed = "no" }', "seed"),
        ('[openai.models."gpt-4o"]\nprice_in = "cheap"', "price_in"),
        ('[openai.models."gpt-4o"]\nprice_in = -1.0', "price_in must be 0 or more, not -1"),
        ('[openai.models."gpt-4o"]\nprice_out = nan', "price_out must be 0 or more, not nan"),
        ("[openai.dialect]\nmax_top_logprobs = -5", "max_top_logprobs"),
        ("[openai]\nmodels = 3", "models"),
        ("[openai]\ndialect = []", "dialect"),
    ],
)
def test_faults_in_the_users_file_are_named(own, text, words):
    environ = own(text)
    with pytest.raises(InputError, match=words) as caught:
        providers(environ)
    assert environ["VERIDICAL_PROVIDERS"] in str(caught.value)


def test_a_users_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        providers({"VERIDICAL_PROVIDERS": str(tmp_path / "none.toml")})


def test_every_provider_and_key_is_in_the_docs(tmp_path):
    text = (Path(__file__).parents[1] / "docs" / "models.md").read_text(encoding="utf-8")
    for name, provider in providers(nothing(tmp_path)).items():
        assert f"`{name}/NAME`" in text
        assert all(f"`{variable}`" in text for variable in provider.key)


def test_the_table_of_the_docs_is_read_as_it_stands(own):
    text = (Path(__file__).parents[1] / "docs" / "models.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    environ = own(table)
    mine = endpoint("mine/big", environ | {"MINE_API_KEY": "k"})
    assert (mine.dialect.json_schema, mine.dialect.context_window, mine.dialect.temperature) == (
        "guided_json",
        32768,
        False,
    )
    assert price_of("openai/gpt-4o-mini", environ) == Price(prompt=0.15, completion=0.55)
    for field in Dialect.__struct_fields__:
        assert f"`{field}`" in text
