/** `compress` over a host's list: however the host keeps the list, each message is recorded once, and in order. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { messageHash, type MessageInput } from '../../src/domain/values/message.js'
import { busyPolicies, histories, namedHistories } from '../support/arbitraries.js'
import { problemsOfEveryApi } from '../support/chat-validity.js'
import { answering, calling, nameless, say, SMALL, talk } from '../support/conversations.js'
import { createHarness, messageOf, type Harness } from '../support/harness.js'
import { jsonAs, passedOff } from '../support/json.js'
import { runsOf } from '../support/length.js'

type History = readonly MessageInput[]

/** The behaviour of a host between two calls. */
interface Host {
  readonly name: string
  /** The list of the next call, made from the list that was passed and the one that was returned. */
  readonly keeps: (given: History, returned: History) => History
}

const roundTrip = (history: History): History => jsonAs(JSON.stringify(history))

const HOSTS: readonly Host[] = [
  { name: 'what was returned', keeps: (_given, returned) => returned },
  { name: 'what was returned, through JSON', keeps: (_given, returned) => roundTrip(returned) },
  { name: 'everything', keeps: (given) => given },
]

/** Adds one message after the other; each call may go to another process. */
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
    const nextHistory = [...history, message]
    const { history: returned } = await now.compress(nextHistory)
    expect(now.problems).toEqual([])
    history = host.keeps(nextHistory, returned)
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

  it('with messages that repeat each other, without ids', async () => {
    const messages = talk(40).map(({ role }) => ({
      role,
      content: 'Go on with the next berth of the harbour, please. '.repeat(4),
    }))
    const { harness } = await converse(createHarness({ policy: SMALL }), host, messages)
    expect(await recorded(harness)).toEqual(hashes(messages))
  })

  it('and calls another process each time', async () => {
    const messages = talk(30).map(nameless)
    const { harness } = await converse(createHarness({ policy: SMALL }), host, messages, true)
    expect(await recorded(harness)).toEqual(hashes(messages))
  })

  it('with tools, late results, and texts that do not fit', async () => {
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
    expect(problemsOfEveryApi((await harness.context()).messages)).toEqual([])
  })

  it('with any history and any policy', async () => {
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

describe('the result', () => {
  it('is the given list as long as nothing has to be compacted', async () => {
    const harness = createHarness({ policy: SMALL })
    const history = talk(5)
    const result = await harness.compress(history)
    expect(result.history).toBe(history)
    expect(result).toMatchObject({
      batchesCreated: 0,
      messagesCompressed: 0,
      tokensEstimateBefore: result.tokensEstimateAfter,
    })
  })

  it('begins with the view, followed by the host’s own objects for unchanged messages', async () => {
    const harness = createHarness({ policy: SMALL })
    const history = [{ role: 'system' as const, content: 'Be brief.' }, ...talk(25)]
    const result = await harness.compress(history)
    expect(result.batchesCreated).toBeGreaterThan(0)
    expect(result.messagesCompressed).toBeGreaterThan(0)
    expect(result.tokensEstimateAfter).toBeLessThan(result.tokensEstimateBefore)
    expect(result.history[0]).toMatchObject({
      role: 'system',
      content: expect.stringMatching(/^Be brief\.\n\n\[Context Summary/u),
    })
    expect(result.history[1]).toMatchObject({ role: 'user' })
    expect(result.history.at(-1)).toBe(history.at(-1))
    expect(result.history).toHaveLength((await harness.context()).messages.length)
  })

  it('passed in again much later without ids records nothing new', async () => {
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

  it('passed in again records nothing, even with its own view and an older one', async () => {
    const harness = createHarness({ policy: SMALL })
    const first: History = (await harness.compress(talk(25))).history
    await harness.compress([...first, ...talk(20, 25)])
    const count = (await recorded(harness)).length
    const restarted = harness.restart()
    await restarted.compress([...first, say(44)])
    expect(await recorded(restarted)).toHaveLength(count)
  })

  it('is the given history if a message is malformed, and nothing is recorded', async () => {
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

  it('is the previous context if the summarizer fails, with the error', async () => {
    const harness = createHarness({ policy: { ...SMALL, fallback: 'none' } })
    harness.summarizer.answer = () => ({ failure: 'timeout' })
    const history = talk(22)
    expect((await harness.compress(history)).history).toBe(history)
    expect(harness.problems).toEqual([expect.objectContaining({ kind: 'SummarizerFailed', failure: 'timeout' })])
  })
})
