// toolstub: what tools return that is too long is kept outside of the conversation.
// Written by `toolstub init opencode`; `toolstub init opencode --uninstall` removes it.
import { spawn } from "node:child_process";

const [program, ...words] = "COMMAND";

// Whatever goes wrong, the result stays as it is.
function ask(payload) {
  return new Promise((resolve) => {
    let answer = "";
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"] });
    const timer = setTimeout(() => child.kill(), 30_000);
    const end = (value) => {
      clearTimeout(timer);
      resolve(value);
    };
    child.on("error", () => end(null));
    child.stdin.on("error", () => {});
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (piece) => (answer += piece));
    child.on("close", () => {
      try {
        end(JSON.parse(answer));
      } catch {
        end(null);
      }
    });
    child.stdin.end(JSON.stringify(payload));
  });
}

export const Toolstub = async () => ({
  "tool.execute.after": async (input, output) => {
    if (!output) return;
    const { metadata } = output;
    const answer = await ask({
      hook_event_name: "tool.execute.after",
      session_id: input.sessionID,
      tool_name: input.tool,
      tool_use_id: input.callID,
      output: output.output,
      content: output.content,
      metadata: { truncated: metadata?.truncated, outputPath: metadata?.outputPath },
    });
    if (typeof answer?.output === "string") output.output = answer.output;
    if (Array.isArray(answer?.content)) output.content = answer.content;
  },
});
