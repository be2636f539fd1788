/** Load, decide, append: conflicts decide again, unknown outcomes are asked again, and what is known from long ago is compared with it. */
import { describe, expect, it } from '@jest/globals'
import { conversationStream } from '../../src/domain/ids.js'
import { answering, calling, nameless, say, SMALL, talk } from '../support/conversations.js'
import { CONVERSATION, createHarness } from '../support/harness.js'

const PROVENANCE = { actor: 'test', correlationId: 'request-1', causationId: 'request-1' }

describe('a conflict', () => {
  it('decides again on what is there now', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(say(0))
    const rival = harness.restart()
    harness.store.beforeAppend = async () => { await rival.appended(say(1)) }
    expect((await harness.appended([say(2), say(3)])).recorded).toEqual(['m2', 'm3'])
    expect((await harness.context()).messageIds).toEqual(['m0', 'm1', 'm2', 'm3'])
  })

  it('gives a message without an id the place that it really has', async () => {
    const harness = createHarness({ policy: SMALL })
    const rival = harness.restart()
    await harness.appended(say(0))
    harness.store.beforeAppend = async () => { await rival.appended(nameless(say(1))) }
    await harness.appended(nameless(say(1)))
    const ids = (await harness.factsOf('MessageAppended')).map((fact) => fact.data.messageId)
    expect(new Set(ids).size).toBe(3)
  })

  it('over the very same message records it once', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(say(0))
    const rival = harness.restart()
    harness.store.beforeAppend = async () => { await rival.appended(say(1)) }
    expect((await harness.appended([say(1), say(2)])).recorded).toEqual(['m2'])
  })

  it('over the first message of all decides again too', async () => {
    const harness = createHarness({ policy: SMALL })
    const rival = harness.restart()
    harness.store.beforeAppend = async () => { await rival.appended(say(0)) }
    expect((await harness.appended(say(1))).recorded).toEqual(['m1'])
    expect(await harness.factsOf('ConversationConfigured')).toHaveLength(1)
  })
})

describe('what another process appended', () => {
  it('is seen before a no is said', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended(say(0))
    await harness.restart().appended(calling('c', ['x']))
    expect((await harness.appended(answering('r', 'x'))).recorded).toEqual(['r'])
  })
})

describe('an append whose outcome is unknown', () => {
  it.each(['unknown-before', 'unknown-after'] as const)('%s is asked again, and records once', async (fault) => {
    const harness = createHarness({ policy: SMALL })
    harness.store.faults.push(fault, fault === 'unknown-before' ? fault : undefined)
    expect((await harness.appended(talk(2))).recorded).toEqual(['m0', 'm1'])
    expect((await harness.facts()).map((fact) => fact.type)).toEqual(['ConversationConfigured', 'MessageAppended', 'MessageAppended'])
  })

  it('that stays unknown is a failure, and the same command later records once', async () => {
    const harness = createHarness({ policy: SMALL })
    harness.store.faults.push('unknown-after', 'unknown-before', 'unknown-before', 'unknown-before')
    expect(await harness.append(talk(2))).toMatchObject({ left: { kind: 'StoreUnavailable' } })
    expect((await harness.appended(talk(2))).recorded).toEqual([])
    expect(await harness.factsOf('MessageAppended')).toHaveLength(2)
  })
})

describe('what is recorded', () => {
  it('says who asked, and for which request; its time never goes back', async () => {
    let now = 5_000
    const harness = createHarness({ policy: SMALL, clock: { now: () => new Date((now -= 1_000)), newId: () => 'unused' } })
    await harness.conversations.handle(CONVERSATION, [{ type: 'Configure', settings: SMALL, scope: undefined, summarizerWindowTokens: 1_000 }], PROVENANCE)
    await harness.conversations.handle(CONVERSATION, [{ type: 'AppendMessages', messages: [{ role: 'user', content: 'x' }], now: '2026-01-01T00:00:00.000Z' }], PROVENANCE)
    const [first, second] = (await harness.facts()).map((fact) => fact.metadata)
    expect(second).toMatchObject({ ...PROVENANCE, schemaVersion: 1, previousHash: first?.hash })
    expect(second?.recordedAt).toBe(first?.recordedAt)
  })

  it('of one command is one append, and its commands are decided in turn', async () => {
    const harness = createHarness({ policy: SMALL })
    await harness.appended([calling('c', ['x']), answering('r', 'x')])
    expect(harness.store.appends.map(({ types }) => types)).toEqual([['ConversationConfigured', 'MessageAppended', 'MessageAppended']])
  })

  it('a body above 64 KiB lies beside the log and comes back whole', async () => {
    const harness = createHarness()
    const content = '决定'.repeat(40_000)
    await harness.appended({ id: 'large', role: 'user', content })
    for await (const stored of harness.store.readStream(conversationStream(CONVERSATION))) expect(stored.data.length).toBeLessThan(5_000)
    expect((await harness.restart().context()).messages[0]?.content).toBe(content)
  })
})

it('commands of one conversation take turns, those of others do not wait for them', async () => {
  const harness = createHarness({ policy: SMALL })
  await Promise.all(talk(20).map((message) => harness.appended(message)))
  expect((await harness.context()).messageIds).toHaveLength(20)
  expect(harness.store.appends.filter(({ stream }) => stream === conversationStream(CONVERSATION))).toHaveLength(20)
})
