// An agent on the official TypeScript SDK, whose folder is the argument; it plays the same script as `python_agent.py`.
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const acp = await import(pathToFileURL(`${process.argv[2]}/dist/v1/stable/acp.js`).href);
const { agent: ours, client: theirs } = acp.methods;
const options = [
  { optionId: "yes", name: "Allow", kind: "allow_once" },
  { optionId: "no", name: "Reject", kind: "reject_once" },
];
let cancel = () => {};

const update = (client, update) => client.notify(theirs.session.update, { sessionId: "s1", update });
const say = (client, text, sessionUpdate = "agent_message_chunk") =>
  update(client, { sessionUpdate, content: { type: "text", text } });
const ask = (client, cancellationSignal) =>
  client.request(
    theirs.session.requestPermission,
    { sessionId: "s1", toolCall: { toolCallId: "t1", title: "Write it" }, options },
    { cancellationSignal },
  );

async function work(client) {
  await say(client, "Hello, " + "é".repeat(100_000));
  await say(client, "hm", "agent_thought_chunk");
  const entries = [
    { content: "look", priority: "medium", status: "completed" },
    { content: "write", priority: "medium", status: "pending" },
  ];
  await update(client, { sessionUpdate: "plan", entries });
  const call = { sessionUpdate: "tool_call", toolCallId: "t1" };
  await update(client, { ...call, title: "Write it", kind: "edit", rawInput: { path: "/a" } });
  const { outcome } = await ask(client);
  const done = { sessionUpdate: "tool_call_update", toolCallId: "t1" };
  if (outcome.outcome === "cancelled") return "cancelled";
  if (outcome.optionId === "no") {
    await update(client, { ...done, status: "failed" });
    return "refusal";
  }
  const content = [{ type: "diff", path: "/a", oldText: "old", newText: "new" }];
  await update(client, { ...done, status: "completed", content });
  return "end_turn";
}

async function wait(client) {
  const cancelled = new Promise((resolve) => (cancel = resolve));
  await say(client, "waiting");
  await cancelled;
  return "cancelled";
}

async function withdraw(client) {
  const controller = new AbortController();
  const answer = ask(client, controller.signal).catch((error) => error);
  setTimeout(() => controller.abort(), 50);
  await say(client, `withdrawn: ${(await answer).code}`);
  return "end_turn";
}

const words = { work, wait, withdraw };

acp
  .agent({ name: "scripted" })
  .onRequest(ours.initialize, ({ params }) => ({
    protocolVersion: params.protocolVersion,
    agentInfo: { name: "scripted", version: "1" },
  }))
  .onRequest(ours.session.new, async ({ params, client }) => {
    await say(client, `in ${params.cwd}`);
    return { sessionId: "s1" };
  })
  .onRequest(ours.session.prompt, async ({ params, client }) => {
    const word = words[params.prompt[0].text];
    if (!word) throw acp.RequestError.invalidParams({ details: "no such word" });
    return { stopReason: await word(client) };
  })
  .onNotification(ours.session.cancel, () => cancel())
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
