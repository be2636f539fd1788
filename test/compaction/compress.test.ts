/**
 * `compress` over a host's own list: whatever it keeps of what it was given, each message is recorded once, and in
 * order.
 */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { messageHash, type MessageInput } from '../../src/domain/values/message.js'
import { busyPolicies, histories, namedHistories } from '../support/arbitraries.js'
import { chatProblems } from '../support/chat-validity.js'
import { answering, calling, nameless, say, SMALL, talk } from '../support/conversations.js'
import { createHarness, messageOf, type Harness } from '../support/harness.js'
import { jsonAs, passedOff } from '../support/json.js'
import { runsOf } from '../support/length.js'

type History = readonly MessageInput[]

/** What a host keeps between two calls. */
interface Host {
  readonly name: string
  /** The list of the next call, from the one that was given and the one that came back. */
  readonly keeps: (given: History, returned: History) => History
}

const roundTrip = (history: History): History => jsonAs(JSON.stringify(history))

const HOSTS: readonly Host[] = [
  { name: 'what was returned', keeps: (_given, returned) => returned },
  { name: 'what was returned, through JSON', keeps: (_given, returned) => roundTrip(returned) },
  { name: 'everything', keeps: (given) => given },
]

/** Says one message after another; each time another process may be asked. */
async function converse(
  harness: Harness,
  host: Host,
  messages: History,
  restarts = false,
): Promise<{ last: History; harness: Harness }> {
  let history: History = []
  let now = harness
  for (const message of messages) {
    if (restarts) now = now.restart()
    const given = [...history, message]
    const { history: returned } = await now.compress(given)
    expect(now.problems).toEqual([])
    history = host.keeps(given, returned)
  }
  return { last: history, harness: now }
}

async function recorded(harness: Harness): Promise<string[]> {
  return (await harness.eventsOf('MessageAppended')).map((event) => messageHash(event.data))
}

const hashes = (messages: History): string[] => messages.map((message) => messageHash(messageOf(message)))

describe.each(HOSTS)('a host that keeps $name', (host) => {
  it.each([true, false])('with ids: %s', async (named) => {
    const messages = talk(80).map((message) => (named ? message : nameless(message)))
    const { harness } = await converse(createHarness({ policy: SMALL }), host, messages)
    expect(await recorded(harness)).toEqual(hashes(messages))
    expect((await harness.conversations.load('c1')).cycles).toBeGreaterThan(2)
  })

  it('whose messages repeat each other, without ids', async () => {
    const messages = talk(40).map(({ role }) => ({
      role,
      content: 'Go on with the next berth of the harbour, please. '.repeat(4),
    }))
    const { harness } = await converse(createHarness({ policy: SMALL }), host, messages)
    expect(await recorded(harness)).toEqual(hashes(messages))
  })

  it('and asks another process each time', async () => {
    const messages = talk(30).map(nameless)
    const { harness } = await converse(createHarness({ policy: SMALL }), host, messages, true)
    expect(await recorded(harness)).toEqual(hashes(messages))
  })

  it('with tools, results that come late, and texts that do not fit', async () => {
    const messages = [
      { role: 'system' as const, content: 'Be brief.' },
      nameless(say(0)),
      nameless(calling('c', ['x', 'y'])),
      nameless(answering('ry', 'y')),
      nameless(say(1)),
      nameless(answering('rx', 'x')),
      { role: 'user' as const, content: 'x'.repeat(6_000) },
      ...talk(20, 2).map(nameless),
      { role: 'assistant' as const, content: 'y'.repeat(6_000) },
      ...talk(6, 30).map(nameless),
    ]
    const { harness, last } = await converse(createHarness({ policy: SMALL }), host, messages)
    expect(await recorded(harness)).toEqual(hashes(messages))
    expect(last.length).toBeGreaterThan(0)
    expect(chatProblems((await harness.context()).messages)).toEqual([])
  })

  it('whatever its history and its policy', async () => {
    await fc.assert(
      fc.asyncProperty(
        busyPolicies,
        fc.oneof(histories(25), namedHistories(25)),
        fc.boolean(),
        async (policy, given, bare) => {
          const messages = given.map((message) => ({
            ...(bare ? nameless(message) : message),
            ...(message.role === 'system' || message.role === 'developer' ? { content: 'Be brief.' } : {}),
            pinned: false,
          }))
          const harness = createHarness({ policy: { ...policy, modelMaxTokens: 4_000 } })
          await converse(harness, host, messages)
          expect(await recorded(harness)).toEqual(hashes(messages))
        },
      ),
      { numRuns: runsOf(25) },
    )
  })
})

describe('what comes back', () => {
  it('is the very list that was given, while nothing has to be compacted', async () => {
    const harness = createHarness({ policy: SMALL })
    const history = talk(5)
    const done = await harness.compress(history)
    expect(done.history).toBe(history)
    expect(done).toMatchObject({
      batchesCreated: 0,
      messagesCompressed: 0,
      tokensEstimateBefore: done.tokensEstimateAfter,
    })
  })

  it('has the view in front, and the host’s own objects where they stay', async () => {
    const harness = createHarness({ policy: SMALL })
    const history = [{ role: 'system' as const, content: 'Be brief.' }, ...talk(25)]
    const done = await harness.compress(history)
    expect(done.batchesCreated).toBeGreaterThan(0)
    expect(done.messagesCompressed).toBeGreaterThan(0)
    expect(done.tokensEstimateAfter).toBeLessThan(done.tokensEstimateBefore)
    expect(done.history[0]).toBe(history[0])
    expect(done.history[1]).toMatchObject({ role: 'system', content: expect.stringContaining('[Context Summary') })
    expect(done.history.at(-1)).toBe(history.at(-1))
    expect(done.history).toHaveLength((await harness.context()).messages.length)
  })

  it('and is given again much later, without ids, records nothing of what it held', async () => {
    const harness = createHarness({ policy: SMALL })
    let history: History = []
    let older: History | undefined
    for (const message of talk(120).map(nameless)) {
      const { history: returned, batchesCreated } = await harness.compress([...history, message])
      history = returned
      if (batchesCreated > 0) older ??= roundTrip(returned)
    }
    const before = await recorded(harness)
    const { history: after } = await harness.compress([...(older ?? []), { role: 'user', content: 'one more' }])
    expect(older?.length).toBeGreaterThan(1)
    expect(await recorded(harness)).toEqual([...before, ...hashes([{ role: 'user', content: 'one more' }])])
    expect(after.at(-1)).toEqual({ role: 'user', content: 'one more' })
  })

  it('and is given again records nothing, its own view and an older one included', async () => {
    const harness = createHarness({ policy: SMALL })
    const first: History = (await harness.compress(talk(25))).history
    await harness.compress([...first, ...talk(20, 25)])
    const count = (await recorded(harness)).length
    const again = harness.restart()
    await again.compress([...first, say(44)])
    expect(await recorded(again)).toHaveLength(count)
  })

  it('is the history that was given where a message is malformed, and nothing of it is recorded', async () => {
    const harness = createHarness({ policy: SMALL })
    const history: MessageInput[] = passedOff([say(0), { role: 'user', content: 5 }])
    expect(await harness.compress(history)).toEqual({
      history,
      batchesCreated: 0,
      messagesCompressed: 0,
      tokensEstimateBefore: 0,
      tokensEstimateAfter: 0,
      error: expect.objectContaining({ kind: 'BadMessage', field: 'history[1].content' }),
    })
    expect(await harness.events()).toEqual([])
    expect(harness.problems).toHaveLength(1)
  })

  it('is the context as it was where the summarizer fails, and the host hears of it', async () => {
    const harness = createHarness({ policy: { ...SMALL, standIn: 'none' } })
    harness.summarizer.answer = () => ({ failure: 'timeout' })
    const history = talk(22)
    expect((await harness.compress(history)).history).toBe(history)
    expect(harness.problems).toEqual([expect.objectContaining({ kind: 'SummarizerFailed', failure: 'timeout' })])
  })
})
