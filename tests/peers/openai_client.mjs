// OpenAI's client for Node.js: asks a server plainly, as a stream and wrongly, and prints what came of it as JSON.
// Where the server is and its key are in OPENAI_BASE_URL and OPENAI_API_KEY.
import OpenAI from "openai";

const client = new OpenAI({ maxRetries: 0 });
const user = (content) => [{ role: "user", content }];

const failure = async (work) => {
  try {
    await work();
    return "no error";
  } catch (error) {
    return [error.constructor.name, error.status, error.param ?? null];
  }
};

const plain = await client.chat.completions.create({ model: "scripted", messages: user("demo: say Hello") });

let text = "";
const stream = await client.chat.completions.create({ model: "x", messages: user("demo: slow 3 0"), stream: true });
for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? "";

const models = [];
for await (const model of client.models.list()) models.push(model.id);

const errors = [
  await failure(() => client.chat.completions.create({ model: "x", messages: user("Hello"), n: 2 })),
  await failure(() => new OpenAI({ apiKey: "wrong", maxRetries: 0 }).models.list()),
  await failure(() => client.models.retrieve("no-such")),
];

console.log(
  JSON.stringify({
    plain: plain.choices[0].message.content,
    stream: text,
    models,
    errors,
  }),
);
