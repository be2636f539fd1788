/** Requests of agents with few user messages: every API accepts them, whichever way they reach the model. */
import { describe, expect, it } from '@jest/globals'
import { openLedger, type MessageInput } from '../../src/index.js'
import { problemsOfEveryApi } from '../support/chat-validity.js'
import { isLong } from '../support/length.js'
import { WAY_NAMES, WAYS, type WayName } from '../support/ways-to-a-model.js'

const WINDOW = 1_500
const STEPS = isLong ? 24 : 14

/** One request, and a tool call in each step after it. */
function toolSteps(steps: number): MessageInput[] {
  return Array.from({ length: steps }, (_none, step): MessageInput[] => {
    const id = `call_${String(step)}`
    return [
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id, type: 'function', function: { name: 'read', arguments: `{"path":"src/${String(step)}.ts"}` } },
        ],
      },
      { role: 'tool', tool_call_id: id, content: `Result ${String(step)}: ${'the berth is booked. '.repeat(12)}` },
    ]
  }).flat()
}

const task: readonly MessageInput[] = [
  { role: 'system', content: 'You are a coding agent in a port.' },
  { role: 'user', content: 'Please make every berth bookable by the hour, and keep the tests green.' },
]

async function requests(way: WayName, messages: readonly MessageInput[]): Promise<(readonly object[])[]> {
  const ledger = await openLedger({ store: 'memory', policy: { modelMaxTokens: WINDOW } })
  const sent: (readonly object[])[] = []
  try {
    for await (const request of WAYS[way]({ ledger, conversationId: 'c', messages, modelMaxTokens: WINDOW }))
      sent.push(request)
    expect((await ledger.admin.verify('c')).problems).toEqual([])
    expect((await ledger.admin.stats('c')).cycles).toBeGreaterThan(0)
  } finally {
    await ledger.close()
  }
  return sent
}

describe.each(WAY_NAMES)('%s', (way) => {
  it(`sends requests that every API accepts after one user message and ${String(STEPS)} tool steps`, async () => {
    const sent = await requests(way, [...task, ...toolSteps(STEPS), { role: 'assistant', content: 'Done.' }])
    expect(sent.length).toBeGreaterThan(STEPS - 4)
    expect(sent.map((messages) => problemsOfEveryApi(messages)).filter(({ length }) => length > 0)).toEqual([])
    expect(JSON.stringify(sent.at(-1))).toContain('Shown again: the original request')
  })
})
