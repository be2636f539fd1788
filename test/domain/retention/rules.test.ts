/** Rules and holds, without a ledger: given recorded events, when something is requested, then it is allowed or not. */
import { describe, expect, it } from '@jest/globals'
import { either as E } from 'fp-ts'
import type { Event, RecordedEvent } from '../../../src/domain/events/index.js'
import { releaseHold, setRules } from '../../../src/domain/retention/decide-retention.js'
import { judgeDue, judgeErasure } from '../../../src/domain/retention/judge-erasure.js'
import { evolveRetention, NO_RETENTION, type RetentionState } from '../../../src/domain/retention/retention-state.js'
import { afterDuration, durationText, parseDuration } from '../../../src/domain/values/duration.js'

const NOW = new Date('2026-08-15T00:00:00.000Z')
const metadata = {
  schemaVersion: 1,
  correlationId: 'c',
  causationId: 'c',
  actor: 'test',
  recordedAt: '2026-01-01T00:00:00.000Z',
  hash: '',
  previousHash: '',
}
const foldOf = (...events: readonly Event[]): RetentionState =>
  events
    .map((event, revision): RecordedEvent => ({
      ...event,
      stream: 'retention-rules',
      revision,
      position: 0,
      id: '',
      metadata,
    }))
    .reduce(evolveRetention, NO_RETENTION)
const rules = (data: { scope?: string; keepAtLeast?: string; eraseAfter?: string }): Event => ({
  type: 'RetentionRulesSet',
  data: { ...data, reason: 'r' },
})
const hold = (holdId: string, data: { scope?: string; conversationId?: string }): Event => ({
  type: 'RetentionHoldPlaced',
  data: { holdId, ...data, reason: 'r' },
})
const ruleOf = (at: string, scope?: string) => ({
  conversationId: 'talk',
  scope,
  youngestErased: at,
  lastMessageAt: at,
})
const kindOf = (result: E.Either<{ readonly kind: string }, unknown>): string =>
  E.isLeft(result) ? result.left.kind : 'allowed'

describe('durations', () => {
  it.each([
    ['6 months', 'P6M', '6 months'],
    ['180 days', 'P180D', '180 days'],
    ['1 year', 'P1Y', '1 year'],
    [' 26W ', 'P26W', '26 weeks'],
    ['P6M', 'P6M', '6 months'],
    ['p1d', 'P1D', '1 day'],
  ])('%s', (text, recorded, shown) => {
    expect(parseDuration('keepAtLeast', text)).toEqual(E.right(recorded))
    expect(durationText(recorded)).toBe(shown)
  })

  it.each(['', '6', 'months', '0 days', '-1 day', '1.5 years', '1 hour', 'P6M1D', 'PT5M', '2000 years', 6, null])(
    '%p is rejected with the name of the field',
    (text) => {
      expect(parseDuration('keepAtLeast', text)).toMatchObject({ left: { kind: 'BadInput', field: 'keepAtLeast' } })
    },
  )

  it.each([
    ['2026-08-31T10:00:00.000Z', 'P6M', '2027-02-28T10:00:00.000Z'],
    ['2024-02-29T00:00:00.000Z', 'P1Y', '2025-02-28T00:00:00.000Z'],
    ['2026-01-01T00:00:00.000Z', 'P2W', '2026-01-15T00:00:00.000Z'],
    ['2026-12-31T23:59:59.999Z', 'P1D', '2027-01-01T23:59:59.999Z'],
  ])('%s after %s is %s', (time, duration, result) => {
    expect(new Date(afterDuration(Date.parse(time), duration)).toISOString()).toBe(result)
  })
})

describe('erase', () => {
  it.each([
    ['without rules', [], ruleOf('2026-08-10T00:00:00.000Z'), 'allowed'],
    ['younger than the floor', [rules({ keepAtLeast: 'P6M' })], ruleOf('2026-02-15T00:00:00.001Z'), 'TooYoung'],
    ['as old as the floor', [rules({ keepAtLeast: 'P6M' })], ruleOf('2026-02-15T00:00:00.000Z'), 'allowed'],
    [
      'a floor of another scope',
      [rules({ scope: 'a', keepAtLeast: 'P6M' })],
      ruleOf('2026-08-10T00:00:00.000Z', 'b'),
      'allowed',
    ],
    [
      'a scope replaces the rule of all',
      [rules({ keepAtLeast: 'P6M' }), rules({ scope: 'a', keepAtLeast: 'P1D' })],
      ruleOf('2026-08-01T00:00:00.000Z', 'a'),
      'allowed',
    ],
    [
      'a scope without that rule has the rule of all',
      [rules({ keepAtLeast: 'P6M' }), rules({ scope: 'a', eraseAfter: 'P9M' })],
      ruleOf('2026-08-01T00:00:00.000Z', 'a'),
      'TooYoung',
    ],
    ['a removed rule', [rules({ keepAtLeast: 'P6M' }), rules({})], ruleOf('2026-08-10T00:00:00.000Z'), 'allowed'],
    [
      'a hold of the conversation',
      [hold('h', { conversationId: 'talk' })],
      ruleOf('2020-01-01T00:00:00.000Z'),
      'OnHold',
    ],
    ['a hold of the scope', [hold('h', { scope: 'a' })], ruleOf('2020-01-01T00:00:00.000Z', 'a'), 'OnHold'],
    ['a message of the future', [rules({ keepAtLeast: 'P1D' })], ruleOf('2027-01-01T00:00:00.000Z'), 'TooYoung'],
  ] as const)('%s', (_name, events, candidate, kind) => {
    expect(kindOf(judgeErasure(foldOf(...events), candidate, NOW, undefined))).toBe(kind)
  })

  it('a legal basis permits young messages, but not held ones', () => {
    const young = ruleOf('2026-08-10T00:00:00.000Z')
    const floor = rules({ keepAtLeast: 'P6M' })
    expect(kindOf(judgeErasure(foldOf(floor), young, NOW, 'GDPR 17'))).toBe('allowed')
    expect(kindOf(judgeErasure(foldOf(floor, hold('h', { conversationId: 'talk' })), young, NOW, 'GDPR 17'))).toBe(
      'OnHold',
    )
  })
})

describe('a run', () => {
  it.each([
    ['without a ceiling', [rules({ keepAtLeast: 'P1D' })], ruleOf('2020-01-01T00:00:00.000Z'), 'NotDue'],
    ['younger than the ceiling', [rules({ eraseAfter: 'P1Y' })], ruleOf('2025-08-15T00:00:00.001Z'), 'NotDue'],
    ['as old as the ceiling', [rules({ eraseAfter: 'P1Y' })], ruleOf('2025-08-15T00:00:00.000Z'), 'allowed'],
    [
      'a released hold',
      [
        rules({ eraseAfter: 'P1Y' }),
        hold('h', { scope: 'a' }),
        { type: 'RetentionHoldReleased', data: { holdId: 'h', reason: 'r' } },
      ],
      ruleOf('2020-01-01T00:00:00.000Z', 'a'),
      'allowed',
    ],
    [
      'one of two holds',
      [
        rules({ eraseAfter: 'P1Y' }),
        hold('h', { scope: 'a' }),
        hold('i', { conversationId: 'talk' }),
        { type: 'RetentionHoldReleased', data: { holdId: 'h', reason: 'r' } },
      ],
      ruleOf('2020-01-01T00:00:00.000Z', 'a'),
      'OnHold',
    ],
  ] as const)('%s', (_name, events, candidate, kind) => {
    expect(kindOf(judgeDue(foldOf(...events), candidate, NOW))).toBe(kind)
  })
})

describe('changes', () => {
  it('a change that changes nothing records nothing', () => {
    expect(setRules(foldOf(rules({ keepAtLeast: 'P6M' })), { keepAtLeast: 'P6M', reason: 'r' })).toEqual(E.right([]))
  })
  it('a rule that is not named stays', () => {
    expect(setRules(foldOf(rules({ keepAtLeast: 'P6M' })), { eraseAfter: 'P1Y', reason: 's' })).toEqual(
      E.right([{ type: 'RetentionRulesSet', data: { keepAtLeast: 'P6M', eraseAfter: 'P1Y', reason: 's' } }]),
    )
  })
  it('a ceiling below the floor is rejected, also below that of all conversations', () => {
    const state = foldOf(rules({ keepAtLeast: 'P6M' }))
    expect(kindOf(setRules(state, { eraseAfter: 'P5M', reason: 'r' }))).toBe('BadInput')
    expect(setRules(state, { scope: 'a', eraseAfter: 'P180D', reason: 'r' })).toMatchObject({
      left: { field: 'eraseAfter', detail: expect.stringContaining('scope "a"') },
    })
    expect(
      kindOf(setRules(foldOf(rules({ scope: 'a', eraseAfter: 'P5M' })), { keepAtLeast: 'P6M', reason: 'r' })),
    ).toBe('BadInput')
  })
  it('a hold that is not there is named', () => {
    expect(releaseHold(foldOf(), 'h', 'r')).toEqual(E.left({ kind: 'NoSuchHold', holdId: 'h' }))
  })
})
