/** Whether a summary has a rule: only with the same names, numbers, side of a limit and denial. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { ruleOf } from '../../src/application/rules/find-rules.js'
import { RuleContext } from '../../src/application/rules/presence.js'
import type { Presence } from '../../src/domain/rules/rule.js'
import { createTalk } from '../loss-report/report-input.js'

/** Whether a context with this summary has the rule. */
function presenceOf(rule: string, summary: string): Presence | undefined {
  const message = createTalk().user(rule)
  const context = new RuleContext({
    removed: [message],
    remaining: [],
    summary: { kind: 'text', text: summary },
    before: [message],
    after: [],
  })
  const given = ruleOf({
    id: 'r1.1',
    text: rule,
    source: 'statement',
    standing: 'found',
    since: {},
    scope: 'conversation',
  })
  return context.find([{ ...given, statedBy: [message] }])[0]?.presence
}

/** A form of a rule: with a name, and versions of it in summaries. */
interface Form {
  readonly rule: (name: string, other: string, amount: number) => string
  /** The same in other words of the same order. */
  readonly kept: (name: string, other: string, amount: number) => string
  /** Something else: a part, the opposite, another limit. */
  readonly changed: readonly ((name: string, other: string, amount: number) => string)[]
}

const FORMS: readonly Form[] = [
  {
    rule: (name) => `Never write to the ${name} table.`,
    kept: (name) => `Rules: never write to the ${name} table.`,
    changed: [
      (name) => `You may write to the ${name} table.`,
      (name) => `Never write to the index of the ${name} table.`,
      (name) => `The ${name} table may be written again.`,
      (name) => `Never write to the ${name} table unless the tests pass.`,
    ],
  },
  {
    rule: (name, other) => `Use ${name}, not ${other}, for the exports.`,
    kept: (name, other) => `The user wants to use ${name}, not ${other}, for the exports.`,
    changed: [
      (name, other) => `Use ${other}, not ${name}, for the exports.`,
      (name, other) => `Use ${name} or ${other} for the exports.`,
      (name) => `Use ${name} for the exports.`,
    ],
  },
  {
    rule: (name, _other, amount) => `Spend at most $${String(amount)} on ${name}.`,
    kept: (name, _other, amount) => `Limit: spend at most $${String(amount)} on ${name}.`,
    changed: [
      (name, _other, amount) => `Spend at most $${String(amount + 40)} on ${name}.`,
      (name, _other, amount) => `Spend at least $${String(amount)} on ${name}.`,
      (_name, other, amount) => `Spend at most $${String(amount)} on ${other}.`,
    ],
  },
  {
    rule: (name) => `${name} のファイルは変更しないでください。`,
    kept: (name) => `ルール：${name} のファイルは変更しない。`,
    changed: [
      (name) => `${name} のファイルは変更してもよい。`,
      (_name) => 'other_thing のファイルは変更しないでください。',
    ],
  },
  {
    rule: (name) => `Ändere niemals die Datei ${name}.ts.`,
    kept: (name) => `Regel: ändere niemals die Datei ${name}.ts.`,
    changed: [
      (name) => `Die Datei ${name}.ts darf geändert werden.`,
      (name) => `Ändere niemals die Datei ${name}.tsx.`,
    ],
  },
]

const OTHERS = [
  'The parser of tide tables was rewritten, and its tests pass.',
  'Next: measure the berths of the north quay.',
  'Marta reviewed the export on Tuesday.',
]

describe('another rule is not the rule', () => {
  it.each([
    ['Never push to main.', 'Never push to main-fix.'],
    ['Only push to the dev branch.', 'Push to the dev branch.'],
    ['Do not touch `src/a.ts`.', 'Do not touch `src/a.ts.bak`.'],
    ['All tests must pass before a merge.', 'Some tests must pass before a merge.'],
    ['Never push more than 3 commits to main.', 'Never push 3 commits to main.'],
    ['Never push to main.', 'Never push to main on Fridays.'],
    ['Never push to main.', 'Never push to main is no longer a rule.'],
    ['Never push to main.', 'Is it true that we never push to main?'],
    ['Never push to main.', 'Never push to main unless the tests pass.'],
    ['Never push to main before staging.', '- Never push to staging before main.'],
    ['Never copy config.prod.json over config.dev.json.', '- Never copy config.dev.json over config.prod.json.'],
  ])('%s: %s', (rule, summary) => {
    expect(presenceOf(rule, summary)).not.toBe('there')
  })

  it.each([
    ['Never push to main.', 'The user said: never push to main, because the customers pull from it.'],
    ['Never push to main.', '- Never push to main; open a pull request.'],
    ['Rule: keep the export in UTF-8.', 'Keep the export in UTF-8.'],
  ])('%s is in: %s', (rule, summary) => {
    expect(presenceOf(rule, summary)).toBe('there')
  })
})

describe('law: a summary has a rule only if it says the same', () => {
  const names = fc
    .tuple(fc.stringMatching(/^[b-z]{4,8}$/u), fc.stringMatching(/^[b-z]{4,8}$/u))
    .map(([a, b]) => `${a}_${b}`)
  const given = fc.record({
    name: names,
    other: names,
    amount: fc.integer({ min: 20, max: 900 }),
    form: fc.constantFrom(...FORMS),
  })

  it('changed, permitted, limited or dropped: never there', () => {
    fc.assert(
      fc.property(given, fc.shuffledSubarray(OTHERS, { minLength: 1 }), ({ name, other, amount, form }, around) => {
        fc.pre(name !== other)
        const rule = form.rule(name, other, amount)
        for (const change of [...form.changed, () => 'Nothing else is open.']) {
          const summary = [...around, change(name, other, amount)].join('\n')
          expect({ summary, presence: presenceOf(rule, summary) }).not.toMatchObject({ presence: 'there' })
        }
      }),
    )
  })

  it('in the forms in which the ledger writes it: there', () => {
    const frames: readonly ((rule: string) => string)[] = [
      (rule) => `- “${rule}” (r3)`,
      (rule) => `- “${rule}” (r3, r12)`,
      (rule) => `- r3: ${rule}`,
      (rule) => `- r3, r12: ${rule}`,
      (rule) => `1. ${rule}`,
      (rule) => `> ${rule}`,
      (rule) => `**${rule}**`,
    ]
    fc.assert(
      fc.property(given, fc.constantFrom(...frames), ({ name, other, amount, form }, frame) => {
        fc.pre(name !== other)
        const summary = frame(form.rule(name, other, amount))
        expect({ summary, presence: presenceOf(form.rule(name, other, amount), summary) }).toMatchObject({
          presence: 'there',
        })
      }),
    )
  })

  it('said: there; and gone from a summary that says nothing of it', () => {
    fc.assert(
      fc.property(given, fc.shuffledSubarray(OTHERS, { minLength: 1 }), ({ name, other, amount, form }, around) => {
        fc.pre(name !== other)
        const rule = form.rule(name, other, amount)
        const summary = [...around, form.kept(name, other, amount)].join('\n')
        expect({ summary, presence: presenceOf(rule, summary) }).toMatchObject({ presence: 'there' })
        expect(presenceOf(rule, around.join('\n'))).not.toBe('there')
      }),
    )
  })
})
