/** The library as of a moment: every way to name one, what waits, and the sentence where there is no such moment. */
import { LedgerError } from '../../src/lib/ledger-error.js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  openLedger,
  type AppendResult,
  type At,
  type DiffOptions,
  type Ledger,
  type RecordedEvent,
  type ViewName,
} from '../../src/index.js'
import { SMALL, talk } from '../support/conversations.js'
import { collect } from '../support/events.js'
import { passedOff } from '../support/json.js'

const ID = 'as of'
let ledger: Ledger
let last: AppendResult
let events: RecordedEvent[]

beforeAll(async () => {
  ledger = await openLedger({ store: 'memory', policy: SMALL })
  for (const message of talk(60)) {
    last = await ledger.append(ID, message)
    await ledger.admin.waitForCompaction(ID)
  }
  events = await collect(ledger.log(ID))
})
afterAll(async () => {
  await ledger.close()
})

const refusal = async (asked: Promise<unknown>): Promise<[string, string]> => {
  const error: unknown = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  return error instanceof LedgerError ? [error.fault, error.message] : ['none', '']
}

describe('a moment', () => {
  it('is a revision as a bigint or a text, an instant as a Date or a text', async () => {
    const event = events.findLast(
      ({ type, revision }) => type === 'MessagesPruned' && revision < (events.at(-1)?.revision ?? 0),
    )
    const { revision = 0, metadata } = event ?? {}
    const then = await ledger.context(ID, { at: revision })
    expect(then.revision).toBe(revision)
    expect(await ledger.context(ID, { at: String(revision) })).toStrictEqual(then)
    const atTime = await ledger.context(ID, { at: new Date(metadata?.recordedAt ?? '') })
    expect(await ledger.context(ID, { at: metadata?.recordedAt ?? '' })).toStrictEqual(atTime)
    const head = events.findLast(({ metadata: { recordedAt } }) => recordedAt <= (metadata?.recordedAt ?? ''))
    expect(atTime.revision).toBe(head?.revision)
    expect((await ledger.messages(ID, { at: revision })).messages.map(({ messageId }) => messageId)).toEqual(
      then.messageIds.filter((id) => id !== undefined),
    )
  })

  it('is now where none is named', async () => {
    const now = await ledger.context(ID)
    expect(await ledger.context(ID, { at: now.revision })).toStrictEqual(now)
    const { messages, revision } = await ledger.messages(ID)
    expect([revision, messages.at(-1)?.messageId]).toEqual([now.revision, 'm59'])
    expect((await ledger.diff(ID, { from: now.revision - 3 })).to).toMatchObject({
      revision: now.revision,
      hash: now.hash,
      tokens: now.tokens,
    })
  })

  it('goes with waiting for one’s own write', async () => {
    const waitFor = last.position ?? -1
    expect((await ledger.context(ID, { at: last.revision, waitFor })).revision).toBe(last.revision)
    const tooEarly = { waitFor: waitFor + 1_000, timeout: 10 }
    for (const read of [
      () => ledger.context(ID, { at: 0, ...tooEarly }),
      () => ledger.messages(ID, tooEarly),
      () => ledger.diff(ID, { cycle: 1, ...tooEarly }),
    ]) {
      expect(await refusal(read())).toEqual(['world', expect.stringContaining('the log has not come to the position')])
    }
  })

  it.each<[At, RegExp]>([
    [-1, /no revision -1 in conversation "as of": its revisions go from 0 to \d+$/u],
    ['100000', /no revision 100000 /u],
    [new Date(0), /did not exist at 1970-01-01T00:00:00\.000Z: its first event was recorded at /u],
    [new Date(Number.NaN), /^at is no valid time$/u],
    ['noon', /^there is no message "noon" in conversation "as of".* neither a revision nor a time/u],
    [passedOff<At>(12n), /^at must be a revision \(a whole number\).* and is a bigint$/u],
    [1.5, /^at must be a revision .* and is 1.5$/u],
  ])('%p is refused in a sentence', async (at, sentence) => {
    expect(await refusal(ledger.context(ID, { at }))).toEqual(['input', expect.stringMatching(sentence)])
    expect(await refusal(ledger.messages(ID, { at }))).toEqual(['input', expect.stringMatching(sentence)])
    expect(await refusal(ledger.diff(ID, { from: at }))).toEqual([
      'input',
      expect.stringMatching(new RegExp(sentence.source.replace('^at ', '^from '), 'u')),
    ])
  })

  it('with a cycle in addition is refused', async () => {
    expect(await refusal(ledger.diff(ID, passedOff<DiffOptions>({ cycle: 1, to: 3 })))).toEqual([
      'input',
      'cycle goes without from and to',
    ])
  })

  it('of a conversation that is not there, or through a view that is not, is refused', async () => {
    expect(await refusal(ledger.context('nobody', { at: 0 }))).toEqual([
      'input',
      expect.stringContaining('no conversation "nobody"'),
    ])
    expect(await refusal(ledger.diff('nobody', { from: 0 }))).toEqual([
      'input',
      expect.stringContaining('no conversation "nobody"'),
    ])
    expect(await refusal(ledger.context(ID, { view: passedOff<ViewName>('diary') }))).toEqual([
      'input',
      'view must be one of working-state, clip-archive, session-summary',
    ])
  })
})
