/**
 * The loop of an agent around the ledger: the context goes to the model, its answer and the tool results are appended,
 * and the agent has two tools of the ledger's own. The model here is a function that plays a script, so that this runs
 * without a key; any client of the OpenAI chat API takes its place. Run it with `node
 * node_modules/context-ledger/dist/examples/agent-loop.js`.
 */
import { openLedger, type ChatMessage, type MessageInput } from 'context-ledger'

/** What a chat API answers: here, a fixed script. */
type Model = (request: { messages: readonly ChatMessage[]; tools: readonly unknown[] }) => Promise<MessageInput>

const answers: MessageInput[] = [
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
const scripted: Model = () => Promise.resolve(answers.shift() ?? { role: 'assistant', content: 'Done.' })

/** @returns the agent's last answer */
export async function agentLoop(model: Model = scripted, say: (line: string) => void = console.log): Promise<string> {
  const ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 2_000 } })
  try {
    const id = 'agent-loop'
    const tools = ledger.tools(id)
    await ledger.append(id, {
      role: 'user',
      content: 'The staging database listens on port 5544; production is none of your business.',
    })
    for (let turn = 1; turn <= 120; turn += 1) {
      await ledger.append(id, {
        role: turn % 2 === 1 ? 'assistant' : 'user',
        content: `Note ${String(turn)} about the deployment: step ${String(turn)} of the checklist is done and took ${String(turn)} minutes in total.`,
      })
    }
    await ledger.append(id, { role: 'user', content: 'Which port was it again?' })
    await ledger.waitForCompaction(id)

    for (;;) {
      const context = await ledger.context(id)
      const answer = await model({ messages: context.messages, tools: tools.map((tool) => tool.definition) })
      // An answer names the context that it answers, so that an auditor can show exactly what the model saw.
      await ledger.append(id, { ...answer, answers: { revision: context.revision.toString(), hash: context.hash } })
      const calls = answer.tool_calls ?? []
      if (calls.length === 0) {
        const said = typeof answer.content === 'string' ? answer.content : JSON.stringify(answer.content)
        say(said)
        return said
      }
      for (const call of calls) {
        const tool = tools.find((own) => own.name === call.function?.name)
        const content =
          tool === undefined
            ? `there is no tool ${call.function?.name ?? ''}`
            : await tool.execute(call.function?.arguments)
        say(`${call.function?.name ?? ''}: ${content.slice(0, 400)}…`)
        await ledger.append(id, { role: 'tool', tool_call_id: call.id, content })
      }
    }
  } finally {
    await ledger.close()
  }
}

if (/[\\/]agent-loop\.[jt]s$/u.test(process.argv[1] ?? '')) await agentLoop()
