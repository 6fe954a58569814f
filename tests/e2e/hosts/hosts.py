"""The hosts: what a user's files hold before toolstub, how each is started, and how it shows results."""

import json
import re
import sys
from pathlib import Path

from model import Call

HERE = Path(__file__).parent.resolve()
# `lines` is behind the proxy, `direct` is not.
SERVERS = {
    "lines": ["toolstub", "proxy", "--", sys.executable, str(HERE / "server.py")],
    "direct": [sys.executable, str(HERE / "server.py")],
}


class Host:
    """What most hosts have in common."""

    name: str
    program: str
    init: list[str]
    #: What `init` is to change, below the home folder.
    changed: list[str]
    #: Of these, what the host itself writes to.
    its_own: list[str] = []
    environment: dict[str, str] = {}
    #: A command's output as the hook gets it, around the output itself.
    before, behind = "", ""
    #: Whether it cuts very long outputs before the hook sees them.
    cuts = False

    def files(self, url):
        """The user's files, by their paths below the home folder."""
        raise NotImplementedError

    def command(self, resumed):
        raise NotImplementedError

    def shell(self, name, count):
        return Call(self.shell_tool, {self.shell_argument: f"{sys.executable} {HERE}/lines.py {name} {count}"})

    def tool(self, server, tool, **arguments):
        return Call(self.tool_name(server, tool), arguments)

    def of_command(self, text):
        """A result of a command, without what is different each time."""
        return text

    def of_server(self, text):
        """What a server returned, from its result."""
        return text


class Claude(Host):
    name, program, init = "claude", "claude", ["claude"]
    changed, its_own = [".claude/settings.json", ".claude.json"], [".claude.json"]
    shell_tool, shell_argument = "Bash", "command"

    def files(self, url):
        servers = {
            name: {"type": "stdio", "command": command[0], "args": command[1:], "alwaysLoad": True}
            for name, command in SERVERS.items()
        }
        self.environment = {
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
        }
        return {
            ".claude.json": json.dumps({"hasCompletedOnboarding": True, "mcpServers": servers}, indent=2),
            ".claude/settings.json":
                '{\n\t"permissions": {"allow": ["Bash", "mcp__toolstub", "mcp__lines", "mcp__direct"]},\n\t"x": 1.10\n}',
        }

    def command(self, resumed):
        return ["claude", "-p", *(["--continue"] if resumed else []), "GO"]

    def tool_name(self, server, tool):
        return f"mcp__{server}__{tool}"


class Codex(Host):
    name, program = "codex", "codex"
    init = ["codex", "--threshold", "8000"]
    changed, its_own = [".codex/config.toml", ".codex/hooks.json"], []
    shell_tool, shell_argument = "exec_command", "cmd"
    environment = {"MODEL_KEY": "none"}
    cuts = True
    #: Commands are cut at this.
    limit = ["-c", "tool_output_token_limit=200000"]

    def files(self, url):
        servers = "".join(
            f"\n[mcp_servers.{name}]\ncommand = '{command[0]}'\nargs = {json.dumps(command[1:])}\n"
            for name, command in SERVERS.items()
        )
        # A hook of the user's own, which keeps what the hooks are given.
        given = {"type": "command", "command": f"cat > {HERE}/given/$$.json"}
        return {
            ".codex/config.toml":
                f'# The scripted model.\nmodel = "scripted"\nmodel_provider = "scripted"\n\n'
                f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{url}/v1"\n'
                f'wire_api = "responses"  # the only one\nenv_key = "MODEL_KEY"\n{servers}',
            ".codex/hooks.json": json.dumps({"hooks": {"PostToolUse": [{"matcher": "*", "hooks": [given]}]}}),
        }

    def command(self, resumed):
        # A user is asked once whether hooks may run; nobody is there to answer.
        trusted = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust", *self.limit]
        return ["codex", "exec", *(["resume", "--last"] if resumed else []), *trusted, "GO"]

    def tool_name(self, server, tool):
        return f"mcp__{server}/{tool}"

    def of_command(self, text):
        return re.sub(r"(Chunk ID|Wall time): [^\n]*", r"\1", text)

    def of_server(self, text):
        return re.sub(r"\AWall time: [^\n]*\nOutput:[\n\0]", "", text)


class Gemini(Host):
    name, program, init = "gemini", "gemini", ["gemini"]
    changed, its_own = [".gemini/settings.json"], []
    before, behind = "Output: ", "\nProcess Group PGID"
    shell_tool, shell_argument = "run_shell_command", "command"

    def files(self, url):
        servers = {
            name: {"command": command[0], "args": command[1:], "trust": True} for name, command in SERVERS.items()
        }
        self.environment = {
            "GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }
        return {
            ".gemini/settings.json":
                # Looking for loops, it would ask the model things that a script has no answer to.
                '{\n  // Signed in by a key.\n  "security": { "auth": { "selectedType": "gemini-api-key" } },\n'
                '  "model": { "disableLoopDetection": true },\n'
                f'  "mcpServers": {json.dumps(servers)}\n}}\n',
        }

    def command(self, resumed):
        return ["gemini", "--yolo", "-m", "gemini-2.5-flash", *(["--resume", "latest"] if resumed else []), "-p", "GO"]

    def tool_name(self, server, tool):
        return f"mcp_{server}_{tool}"

    def of_command(self, text):
        return re.sub(r"PGID: \d+", "PGID", text)

    def of_server(self, text):
        return re.sub(r"\A<untrusted_context>\n(.*)\n</untrusted_context>\Z", r"\1", text, flags=re.S)


class Opencode(Host):
    name, program, init = "opencode", "opencode", ["opencode"]
    changed = [".config/opencode/opencode.json", ".config/opencode/plugin/toolstub.js"]
    its_own = []
    shell_tool, shell_argument = "bash", "command"
    environment = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}

    def files(self, url):
        servers = {name: {"type": "local", "command": command, "enabled": True} for name, command in SERVERS.items()}
        options = {"baseURL": f"{url}/v1", "apiKey": "none"}
        provider = {
            "npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": options,
            "models": {"m": {"name": "m", "tool_call": True}},
        }
        return {
            ".config/opencode/opencode.json":
                '{\n  // The scripted model.\n  "model": "scripted/m",\n'
                f'  "provider": {json.dumps({"scripted": provider})},\n'
                f'  "permission": "allow",\n  "mcp": {json.dumps(servers)},\n}}\n',
        }

    def command(self, resumed):
        return ["opencode", "run", *(["--continue"] if resumed else []), "GO"]

    def shell(self, name, count):
        call = super().shell(name, count)
        return Call(call.tool, {**call.arguments, "description": "Lines of text"})

    def tool_name(self, server, tool):
        return f"{server}_{tool}"


HOSTS = [Claude(), Codex(), Gemini(), Opencode()]
