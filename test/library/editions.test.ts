/** Editions through the library, in memory: how they are named, listed and shown. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { contentText } from '../../src/domain/values/message.js'
import { openLedger, type Ledger } from '../../src/index.js'
import { SMALL, talk } from '../support/conversations.js'

let ledger: Ledger
beforeEach(async () => {
  ledger = await openLedger({ store: 'memory', policy: SMALL })
  for (const id of ['a-x', 'x']) await ledger.append(id, talk(30))
  await ledger.admin.waitForCompaction()
})
afterEach(async () => {
  await ledger.close()
})

/** What a caller without types may hand over. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- that it is of another type is the point
const untyped = (given: unknown): never => given as never

describe('an edition', () => {
  it('is named by its id or the beginning of it, and never by what reaches into another conversation', async () => {
    const { editionId } = await ledger.editions.replay({ conversations: ['a-x'] })
    // edition-<id>-a-x is the stream of "a-x" alone, though its name ends as one of "x" would.
    await expect(ledger.editions.adopt('x', `${editionId}-a`)).rejects.toMatchObject({
      kind: 'NoSuchEdition',
      details: { nearest: editionId },
    })
    await expect(ledger.editions.adopt('x', editionId)).rejects.toMatchObject({
      kind: 'NoSuchEdition',
      details: { conversationId: 'x' },
    })
    expect(await ledger.editions.compare(['a-x'], editionId.slice(0, 5))).toMatchObject({
      conversations: [{ conversationId: 'a-x' }],
    })
    expect(await ledger.editions.adopt('a-x', editionId.slice(0, 5))).toMatchObject({ editionId, changed: true })
    await expect(ledger.editions.show('')).rejects.toThrow('editionId is empty')
  })

  it('names the field of what is wrong in a call, as a caller without types may make it', async () => {
    const { editionId } = await ledger.editions.replay({ conversations: ['x'] })
    const price = { promptPerMillion: 1, completionPerMillion: 1, currency: 'USD' }
    const replays: readonly (readonly [unknown, string])[] = [
      [undefined, 'conversations is missing'],
      [7, 'options must be an object'],
      [{}, 'conversations is missing'],
      [{ conversations: 'a-x' }, 'conversations must be a list of ids, or "all"'],
      [{ conversations: [] }, 'conversations is empty'],
      [{ conversations: ['x', 5] }, 'conversations[1] must be a text'],
      [{ conversations: ['x', ''] }, 'conversations[1] is empty'],
      [{ conversations: ['x'], maxCost: 1 }, 'maxCost needs the price of the model'],
      [{ conversations: ['x'], price: 3 }, 'price must be an object of promptPerMillion'],
      [
        { conversations: ['x'], price: { ...price, promptPerMillion: 'x' }, maxCost: 1 },
        'price.promptPerMillion must be a number',
      ],
      [
        { conversations: ['x'], price: { ...price, completionPerMillion: -1 } },
        'price.completionPerMillion must be 0 or more',
      ],
    ]
    for (const [given, message] of replays)
      await expect(ledger.editions.replay(untyped(given))).rejects.toThrow(message)
    await expect(ledger.editions.estimate(untyped({ conversations: 'x' }))).rejects.toThrow(
      'conversations must be a list of ids, or "all"',
    )
    await expect(
      ledger.editions.estimate({ conversations: ['x'], price: { ...price, promptPerMillion: NaN } }),
    ).rejects.toThrow('price.promptPerMillion must be a number')
    await expect(ledger.editions.adopt('x', editionId, { price: { ...price, currency: 'dollars' } })).rejects.toThrow(
      'price.currency must be a currency code',
    )
    await expect(ledger.editions.show(untyped(undefined))).rejects.toThrow('editionId is missing')
    await expect(ledger.editions.adopt('x', untyped(undefined))).rejects.toThrow('editionId is missing')
    await expect(ledger.editions.adopt(untyped(undefined), editionId)).rejects.toThrow('conversationId is missing')
    await expect(ledger.editions.drop('x', untyped(5))).rejects.toThrow('editionId must be a text')
    await expect(ledger.editions.compare(untyped('x'), editionId)).rejects.toThrow(
      'conversationIds must be a list of ids, or "all"',
    )
    await expect(ledger.editions.compare(['x'], untyped(undefined))).rejects.toThrow('editionId is missing')
    await expect(ledger.admin.prompts.show('')).rejects.toThrow('which is empty')
    await expect(ledger.editions.whatIf(untyped('x'), { policies: [{ name: 'now', settings: {} }] })).rejects.toThrow(
      'conversationIds must be a list of ids, or "all"',
    )
    await expect(ledger.editions.replay({ conversations: ['x'], signal: untyped('x') })).rejects.toMatchObject({
      kind: 'BadInput',
      details: { field: 'signal' },
    })
    await expect(ledger.editions.replay({ conversations: ['x'], onProgress: untyped(5) })).rejects.toThrow(
      'onProgress must be a function',
    )
    await expect(ledger.editions.estimate({ conversations: ['x'], signal: untyped({}) })).rejects.toThrow(
      'signal must be an AbortSignal',
    )
    const rebuild: typeof ledger.admin.projections.rebuild = (...given) => ledger.admin.projections.rebuild(...given)
    await expect(rebuild(untyped(undefined))).rejects.toThrow('names is missing: a list of names, or "all"')
    for (const value of [null, 'live-messages'])
      await expect(rebuild(untyped(value))).rejects.toThrow('names must be a list of names, or "all"')
    await expect(rebuild('all', { signal: untyped('x') })).rejects.toThrow('signal must be an AbortSignal')
    await expect(ledger.editions.undo('x', untyped(undefined))).rejects.toThrow('cycle must be the number of a cycle')
    await expect(ledger.diff('x', untyped(undefined))).rejects.toThrow('from is missing')
    await expect(ledger.search(untyped(undefined))).rejects.toThrow('query is missing')
    const none = untyped(null)
    const calls = [
      () => ledger.editions.undo('x', none),
      () => ledger.append('x', talk(1, 90), none),
      () => ledger.context('x', none),
      () => ledger.messages('x', none),
      () => ledger.diff('x', none),
      () => ledger.compact('x', none),
      () => ledger.search('berth', none),
      () => ledger.list(none),
      () => ledger.admin.stats('x', none),
      () => ledger.admin.verify('x', none),
      () => ledger.explain('x', none),
      () => ledger.editions.compare(['x'], editionId, none),
      () => ledger.editions.adopt('x', editionId, none),
      () => rebuild('all', none),
      () => ledger.log('x', none)[Symbol.asyncIterator]().next(),
    ]
    for (const call of calls)
      await expect(call()).rejects.toMatchObject({ kind: 'BadInput', details: { field: 'options' } })
    for (const options of [undefined, {}, { policies: [] }])
      await expect(ledger.editions.whatIf('all', untyped(options))).rejects.toThrow('policies are missing')
  })

  it('is compared in all conversations but those that it was dropped in, or that the other edition is none of', async () => {
    const { editionId } = await ledger.editions.replay({ conversations: 'all' })
    const { editionId: other } = await ledger.editions.replay({
      conversations: ['x'],
      policy: { maxSummaryTokens: 20 },
    })
    const with2 = await ledger.editions.compare('all', editionId, { against: other })
    expect([with2.conversations.map(({ conversationId }) => conversationId), with2.skipped]).toEqual([
      ['x'],
      [{ kind: 'NoSuchEdition', editionId: other, conversationId: 'a-x' }],
    ])
    await ledger.editions.drop('x', editionId)
    const { conversations, skipped, totals } = await ledger.editions.compare('all', editionId)
    expect([conversations.map(({ conversationId }) => conversationId), totals.conversations]).toEqual([['a-x'], 1])
    expect(skipped).toEqual([{ kind: 'EditionIsDropped', editionId, conversationId: 'x' }])
    await ledger.append('a-x', talk(1, 500))
    await ledger.editions.replay({ conversations: ['a-x'] })
    // One that is named and was dropped is an error, and nothing is recorded of the one before it.
    await expect(ledger.editions.compare(['a-x', 'x'], editionId)).rejects.toMatchObject({
      kind: 'EditionIsDropped',
      details: { conversationId: 'x' },
    })
    expect((await ledger.editions.compare(['a-x'], editionId)).conversations[0]?.recorded).toBe(true)
  })

  it('is put back however much came since, with the tokens of the context that is handed out then', async () => {
    const { editionId } = await ledger.editions.replay({ conversations: ['x'] })
    await ledger.editions.adopt('x', editionId)
    await ledger.append('x', talk(40, 100))
    await ledger.admin.waitForCompaction()
    const before = await ledger.context('x')
    const put = await ledger.editions.revert('x')
    const context = await ledger.context('x')
    expect(put).toMatchObject({
      tokensBefore: before.tokens,
      tokensAfter: context.tokens,
      overBudget: { reason: 'compaction-due', limit: 800 },
      shortened: context.shortened,
    })
    expect(put.tokensAfter).toBeLessThanOrEqual(1_000)
    await ledger.append('x', talk(1, 200))
    await ledger.admin.waitForCompaction()
    expect((await ledger.context('x')).overBudget).toBeUndefined()
  })

  it('is listed and shown with what made it, how far it is and what became of it', async () => {
    const { editionId } = await ledger.editions.replay({ conversations: 'all' })
    await ledger.editions.adopt('x', editionId)
    await ledger.editions.revert('x')
    await ledger.editions.drop('a-x', editionId)
    const [listed] = await ledger.editions.list()
    expect(listed).toMatchObject({
      editionId,
      summarizer: { strategy: 'extractive' },
      prompt: { name: 'extractive' },
      failures: 0,
      states: { 'in-the-making': 0, 'in-force': 0, 'was-in-force': 1, dropped: 1 },
    })
    const { conversations, ...edition } = await ledger.editions.show(editionId)
    expect(edition).toEqual(listed)
    expect(conversations).toMatchObject([
      { conversationId: 'a-x', state: 'dropped' },
      { conversationId: 'x', state: 'was-in-force' },
    ])
    expect(conversations.reduce((all, { cycles }) => all + cycles, 0)).toBe(listed?.cycles)
    // A fact that came since is seen by the next replay.
    await ledger.append('x', talk(1, 500))
    const x = (await ledger.editions.show(editionId)).conversations[1]
    expect(x?.seenRevision).toBeLessThan(x?.conversationHead ?? -1)
  })

  it('is compared with the summary that another program wrote', async () => {
    const { conversations } = await ledger.transcripts.import('examples/claude-code-session.jsonl')
    const [{ conversationId } = { conversationId: '' }] = conversations
    const { editionId } = await ledger.editions.replay({ conversations: [conversationId] })
    const { messages, observed } = await ledger.context(conversationId)
    const [at = -1] = observed?.summaries ?? []
    const [compared] = (await ledger.editions.compare([conversationId], editionId, { record: false })).conversations
    const active = (compared?.view ?? []).filter(({ kind }) => kind !== 'added').map(({ text }) => text)
    expect(active.join('').trim()).toBe(contentText(messages[at]?.content).trim())
    expect(compared?.report.figures.against.viewTokens).toBeGreaterThan(0)
  })
})
