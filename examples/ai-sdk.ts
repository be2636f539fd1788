/**
 * An agent of the AI SDK (`ai`) whose conversation is kept in a ledger by one line at its model. The model plays a
 * script, so that this runs without a key; any model of the AI SDK takes its place. Run it with `node
 * node_modules/context-ledger/dist/examples/ai-sdk.js` where `ai` is installed.
 */
import { generateText, stepCountIs, tool, wrapLanguageModel, type ModelMessage } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { openLedger } from 'context-ledger'
import { ledgerMiddleware } from 'context-ledger/ai-sdk'
import { z } from 'zod'

type Answer = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>

/** Looks a berth up for every question, and says what came back. */
const scripted = new MockLanguageModelV4({
  doGenerate: async ({ prompt }): Promise<Answer> => {
    const isAsked = prompt.at(-1)?.role === 'user'
    const inputTokens = Math.ceil(JSON.stringify(prompt).length / 4)
    return {
      content: isAsked
        ? [
            {
              type: 'tool-call',
              toolCallId: `call-${String(prompt.length)}`,
              toolName: 'berth',
              input: '{"ship":"Alma"}',
            },
          ]
        : [{ type: 'text', text: 'The Alma lies at berth 4, as the harbour office has it.' }],
      finishReason: { unified: isAsked ? 'tool-calls' : 'stop', raw: undefined },
      usage: {
        inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 16, text: 16, reasoning: 0 },
      },
      warnings: [],
    }
  },
})

/** @returns the messages that the host keeps, and how many of them the model was given last */
export async function aiSdk(say: (line: string) => void = console.log): Promise<{ kept: number; sent: number }> {
  const ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: 2_000 } })
  try {
    const model = wrapLanguageModel({
      model: scripted,
      middleware: ledgerMiddleware({ ledger, conversationId: 'harbour' }),
    })
    const messages: ModelMessage[] = []
    for (let turn = 1; turn <= 20; turn += 1) {
      messages.push({
        role: 'user',
        content: `Question ${String(turn)}: where does the Alma lie today, and since when?`,
      })
      const { responseMessages } = await generateText({
        model,
        instructions: 'You answer for the harbour office.',
        messages,
        tools: {
          berth: tool({
            description: 'Where a ship lies',
            inputSchema: z.object({ ship: z.string() }),
            execute: ({ ship }) => ({ ship, berth: 4, since: '06:30', note: 'west quay, crane 2 is out until Monday' }),
          }),
        },
        stopWhen: stepCountIs(3),
      })
      messages.push(...responseMessages)
    }
    const sent = scripted.doGenerateCalls.at(-1)?.prompt.length ?? 0
    const { cycles } = await ledger.admin.stats('harbour')
    say(`The host keeps ${String(messages.length)} messages; the model was given ${String(sent)}.`)
    say(`The ledger has all of them, in ${String(cycles)} compactions.`)
    const { ok } = await ledger.admin.verify('harbour')
    say(ok ? 'Nothing was lost.' : 'Something is wrong.')
    return { kept: messages.length, sent }
  } finally {
    await ledger.close()
  }
}

if (/[\\/]ai-sdk\.[jt]s$/u.test(process.argv[1] ?? '')) await aiSdk()
