/**
 * The loop of an agent with a ledger: the context goes to the model, its answer and the results of its tools are
 * recorded, and the agent can search what left its context. The model here is a function that plays a script, so that
 * this runs without a key; any client of the OpenAI chat API takes its place. Run it with `node
 * node_modules/context-ledger/dist/examples/agent-loop.js`.
 */
import { openLedger, type ChatMessage, type OpenAiCompletion } from 'context-ledger'

/** A chat API: here, a fixed script. */
type Model = (request: { messages: ChatMessage[]; tools: readonly unknown[] }) => Promise<OpenAiCompletion>

const answers: ChatMessage[] = [
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      {
        id: 'call-1',
        type: 'function',
        function: { name: 'memory_read', arguments: '{"query":"which port does the staging database use"}' },
      },
    ],
  },
  { role: 'assistant', content: 'Staging listens on port 5544, as you said at the start.' },
]
const scripted: Model = () =>
  Promise.resolve({ choices: [{ message: answers.shift() ?? { role: 'assistant', content: 'Done.' } }] })

/** @returns the agent's last answer */
export async function agentLoop(model: Model = scripted, say: (line: string) => void = console.log): Promise<string> {
  const ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 2_000 } })
  try {
    const chat = ledger.conversation('agent-loop')
    await chat.user('The staging database listens on port 5544; never touch production.')
    for (let turn = 1; turn <= 120; turn += 1) {
      await chat.append({
        role: turn % 2 === 1 ? 'assistant' : 'user',
        content: `Note ${String(turn)} about the deployment: step ${String(turn)} of the checklist is done and took ${String(turn)} minutes in total.`,
      })
    }
    await chat.user('Which port was it again?')
    await ledger.admin.waitForCompaction(chat.conversationId)

    for (;;) {
      const { messages } = await chat.context()
      const completion = await model({ messages, tools: chat.tools.openai })
      // Records which context the answer belongs to, so that an auditor can show exactly what the model received.
      const { text } = await chat.record(completion)
      const results = await chat.runTools(completion)
      for (const { name, content } of results) say(`${name}: ${content.slice(0, 400)}…`)
      if (results.length > 0) continue
      say(text)
      return text
    }
  } finally {
    await ledger.close()
  }
}

if (/[\\/]agent-loop\.[jt]s$/u.test(process.argv[1] ?? '')) await agentLoop()
