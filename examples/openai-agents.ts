/**
 * An agent of the OpenAI Agents SDK (`@openai/agents`) whose session is kept in a ledger. The model plays a script, so
 * that this runs without a key. Run it with `node node_modules/context-ledger/dist/examples/openai-agents.js` where
 * `@openai/agents` is installed.
 */
import { Agent, Runner, Usage, type Model, type ModelRequest, type ModelResponse } from '@openai/agents'
import { openLedger } from 'context-ledger'
import { ledgerSession } from 'context-ledger/openai-agents'

class ScriptedModel implements Model {
  /** Items that it was given last. */
  given = 0

  getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    this.given = input.length
    const text = 'Noted: the Alma goes to berth 4, as the harbour office has it.'
    return Promise.resolve({
      usage: new Usage({ inputTokens: 100, outputTokens: 15, totalTokens: 115, requests: 1 }),
      output: [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }],
      responseId: 'scripted',
    })
  }

  getStreamedResponse(): never {
    throw new Error('this script does not stream')
  }
}

/** @returns the messages that the ledger has, and how many items the model was given last */
export async function openaiAgents(
  say: (line: string) => void = console.log,
): Promise<{ kept: number; given: number }> {
  const ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 2_000 } })
  try {
    const session = ledgerSession({ ledger, sessionId: 'harbour' })
    const model = new ScriptedModel()
    const agent = new Agent({ name: 'Harbour office', instructions: 'You answer for the harbour office.', model })
    const runner = new Runner({ tracingDisabled: true })
    for (let turn = 1; turn <= 30; turn += 1)
      await runner.run(
        agent,
        `Note ${String(turn)}: the Alma lies at berth 4 until the crane is mended, at noon at best.`,
        {
          session,
        },
      )
    const undone = await session.popItem()
    say(`Taken back, and still in the log: ${JSON.stringify(undone)}`)
    const { messages } = await ledger.admin.stats('harbour')
    say(`The ledger has ${String(messages)} messages; the model was given ${String(model.given)} items.`)
    return { kept: messages, given: model.given }
  } finally {
    await ledger.close()
  }
}

if (/[\\/]openai-agents\.[jt]s$/u.test(process.argv[1] ?? '')) await openaiAgents()
