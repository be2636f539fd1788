/** The rules of a conversation: found, broken, allowed, taken back, and whether the context had them. */
import { afterEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { rulesIn } from '../../src/application/rules/find-rules.js'
import { createTalk } from '../loss-report/report-input.js'
import { openLedger, type Ledger, type MessageInput, type RuleCheck } from '../../src/index.js'

let ledger: Ledger | undefined
afterEach(async () => {
  await ledger?.close()
  ledger = undefined
})

/** A call of a shell, and its result. */
let calls = 0
function shell(command: string, result = 'done'): MessageInput[] {
  calls += 1
  const id = `call_${String(calls)}`
  return [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'Bash', arguments: JSON.stringify({ command }) } }],
    },
    { role: 'tool', tool_call_id: id, content: result },
  ]
}
const user = (content: string): MessageInput => ({ role: 'user', content })
const agent = (content: string): MessageInput => ({ role: 'assistant', content })

/** Records messages; an entry with `summary` is a compaction by another program. */
type Entry = MessageInput | { readonly summary: string }

async function checked(entries: readonly Entry[]): Promise<RuleCheck> {
  ledger ??= await openLedger({ store: 'memory' })
  let number = 0
  for (const entry of entries) {
    number += 1
    if ('summary' in entry) {
      const inserted = { role: 'user' as const, content: entry.summary }
      await ledger.transcripts.observe('c', {
        program: 'agent',
        compaction: {
          sourceId: `compaction-${String(number)}`,
          trigger: 'manual',
          summary: { kind: 'text', text: entry.summary },
          context: [{ inserted, isSummary: true }],
        },
      })
    } else
      await ledger.transcripts.observe('c', { program: 'agent', messages: [{ id: `m${String(number)}`, ...entry }] })
  }
  let found: RuleCheck | undefined
  await ledger.rules.check('c', { onConversation: (check) => void (found = check) })
  if (found === undefined) throw new Error('no check')
  return found
}

const RULE = 'Never push to main.'

describe('a break, and whether the rule was in the context', () => {
  it('the rule was in the context', async () => {
    const { rules } = await checked([user(RULE), ...shell('git push origin main')])
    expect(rules).toMatchObject([
      {
        id: 'r2.1',
        text: RULE,
        verdict: 'broken',
        breaks: [{ words: 'git push origin main', context: { presence: 'there' } }],
      },
    ])
  })

  it('the summary of the second compaction dropped it', async () => {
    const { rules } = await checked([
      user(RULE),
      ...shell('npm test'),
      { summary: 'Never push to main. The tests pass.' },
      user('Go on with the parser.'),
      { summary: 'The parser is next.' },
      ...shell('git push origin main'),
      user('I told you not to do that!'),
    ])
    expect(rules).toMatchObject([
      {
        presences: [
          { cycle: 1, presence: 'there' },
          { cycle: 2, presence: 'gone' },
        ],
        breaks: [{ context: { presence: 'gone', sinceCycle: 2 }, noticed: { by: 'user' } }],
      },
    ])
  })

  it('the summary made another rule of it', async () => {
    const { rules } = await checked([
      user(RULE),
      { summary: 'Never push to develop.' },
      ...shell('git push origin main'),
      agent('I should not have pushed to main.'),
    ])
    expect(rules[0]?.breaks).toMatchObject([{ context: { sinceCycle: 1 }, noticed: { by: 'agent' } }])
    expect(rules[0]?.breaks[0]?.context.presence).not.toBe('there')
  })

  it('a rule that was said again after the compaction was there', async () => {
    const { rules } = await checked([user(RULE), { summary: 'Go on.' }, user(RULE), ...shell('git push origin main')])
    expect(rules).toMatchObject([{ breaks: [{ context: { presence: 'there' } }] }])
    expect(rules).toHaveLength(1)
  })
})

describe('no break', () => {
  it.each([
    ['before the rule', [...shell('git push origin main'), user(RULE)]],
    ['another branch', [user(RULE), ...shell('git push origin topic')]],
    ['allowed in this turn', [user(RULE), user('Yes, push to main this once.'), ...shell('git push origin main')]],
    [
      'the answer to a question',
      [user(RULE), agent('Shall I push to main now?'), user('yes'), ...shell('git push origin main')],
    ],
    [
      'taken back',
      [
        user(RULE),
        user('You may push to main again from now on.'),
        agent('Good.'),
        user('Next.'),
        ...shell('git push origin main'),
      ],
    ],
    [
      'refused by the user',
      [
        user(RULE),
        ...shell(
          'git push origin main',
          "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        ),
      ],
    ],
    [
      'allowed, and told to go on',
      [user(RULE), user('Push to main now.'), agent('Working.'), user('continue'), ...shell('git push origin main')],
    ],
    [
      'the words of a refusal in a file',
      [...shell('cat notes.txt', 'Meeting: the user said: Never push to main.'), ...shell('git push origin main')],
    ],
    ['a question', [user('Should we never push to main?'), ...shell('git push origin main')]],
    ['a quotation', [user('> Never push to main.\nWhat does this mean?'), ...shell('git push origin main')]],
  ] as const)('%s', async (_name, entries) => {
    const { rules } = await checked(entries)
    expect(rules.flatMap(({ breaks }) => breaks)).toEqual([])
  })

  it.each([
    'Read the build of main again and explain it.',
    'The build of main is red again.',
    'I tell you again: hands off main.',
  ])('%s takes no rule back', async (words) => {
    const { rules } = await checked([
      user(RULE),
      user(words),
      agent('Yes.'),
      user('Next.'),
      ...shell('git push origin main'),
    ])
    expect(rules.flatMap(({ breaks }) => breaks).map(({ ruleId }) => ruleId)).toContain('r2.1')
  })

  it('a rule that is said again keeps its id and its earlier breaks', async () => {
    const { rules } = await checked([
      user(RULE),
      ...shell('git push origin main'),
      user('I tell you again. Never push to main.'),
    ])
    expect(rules.find(({ id }) => id === 'r2.1')?.breaks).toHaveLength(1)
  })

  it('a test in the same command ran before the commit', async () => {
    const { rules } = await checked([
      user('Run npm test before every commit.'),
      ...shell('npm test && git commit -m x'),
    ])
    expect(rules.flatMap(({ breaks }) => breaks)).toEqual([])
  })

  it('a later language replaces an earlier one', async () => {
    const answer =
      'Ich habe den Parser geändert, und alle Tests sind jetzt grün. Der nächste Schritt ist der Export der Tabelle, die in dem Modul des Hafens ist.'
    const { rules } = await checked([
      user('Always answer in English.'),
      user('From now on, answer in German.'),
      agent(answer),
    ])
    expect(rules.flatMap(({ breaks }) => breaks)).toEqual([])
  })

  it.each([
    ['Never push to main.', 'You can push to main again.'],
    ['Never push to main.', 'Forget the rule about main: push to main as you like.'],
    ['Niemals auf main pushen.', 'Du darfst ab jetzt wieder auf main pushen.'],
    ['Nunca hagas push a main.', 'A partir de ahora puedes hacer push a main.'],
    ['main には絶対に push しないでください。', 'main にはもう push して構いません。'],
    ['绝对不要 push 到 main。', '现在可以 push 到 main 了。'],
  ])('%s is taken back by %s', async (rule, words) => {
    const { rules } = await checked([
      user(rule),
      user(words),
      agent('Good.'),
      user('Next.'),
      ...shell('git push origin main'),
    ])
    expect(rules.find(({ id }) => id === 'r2.1')).toMatchObject({ takenBack: { text: words }, breaks: [] })
  })

  it('allowed for one turn only: the next turn breaks it', async () => {
    const { rules } = await checked([
      user(RULE),
      user('Yes, push to main this once.'),
      ...shell('git push origin main'),
      user('Now the docs.'),
      ...shell('git push origin main'),
    ])
    expect(rules.flatMap(({ breaks }) => breaks)).toHaveLength(1)
  })

  it('taken back and stated again: it counts from then on', async () => {
    const { rules } = await checked([
      user(RULE),
      user('You may push to main again from now on.'),
      ...shell('git push origin main'),
      user(RULE),
      ...shell('git push origin main'),
    ])
    expect(rules.flatMap(({ breaks }) => breaks)).toHaveLength(1)
  })
})

it('a rule of a file applies from the beginning, and each names its line', async () => {
  ledger = await openLedger({ store: 'memory' })
  await ledger.append('c', [user('Hello'), ...shell('git push --force')])
  const files = [
    { name: 'AGENTS.md', text: '# Rules\n\n- Never force-push.\n- The harbour is old.\n```\nnever run this\n```\n' },
  ]
  const { rules } = await ledger.rules.list('c', { files })
  expect(rules).toMatchObject([{ id: 'AGENTS.md:3', source: 'file', text: 'Never force-push.' }])
  const totals = await ledger.rules.check('c', { files })
  expect(totals).toMatchObject({ rules: 1, judged: 1, broken: 1, breaks: 1 })
})

it('an answer in another language breaks a rule about the language', async () => {
  const answer =
    'I have changed the parser, and all of the tests are green now. The next step is the export of the table, which is in the module of the harbour.'
  const { rules } = await checked([user('Please answer in German.'), agent(answer)])
  expect(rules).toMatchObject([{ verdict: 'broken', breaks: [{ words: 'an answer in English' }] }])
})

describe('law: what the ledger writes of a rule, it finds again', () => {
  const word = fc.stringMatching(/^[b-z]{5,9}$/u)
  const name = fc.tuple(word, word).map(([a, b]) => `${a}_${b}`)
  const rule = fc
    .tuple(
      name,
      fc.constantFrom(
        (table: string) => `Never write to the ${table} table.`,
        (path: string) => `Rule: do not touch src/${path}/.`,
        (host: string) => `Please never deploy to ${host}. [[step-1: read notes.txt]]`,
        (file: string) => `Ändere niemals die Datei ${file}.ts.`,
        (file: string) => `${file}.ts は絶対に変更しないでください。`,
      ),
    )
    .map(([target, form]) => form(target))

  it('in the view of its own compactions, and in a note of recall', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(rule, { minLength: 1, maxLength: 3 }), async (rules) => {
        const own = await openLedger({ store: 'memory', policy: { modelMaxTokens: 2_000, buffer: 4 }, ahead: false })
        try {
          for (const each of rules) await own.append('c', [user(each), agent('Understood.')])
          for (let step = 0; step < 12; step += 1)
            await own.append('c', [user(`Step ${String(step)} of the tide tables. `.repeat(20)), ...shell('npm test')])
          await own.compact('c', { force: true })
          const context = JSON.stringify((await own.context('c')).messages)
          let found: RuleCheck | undefined
          await own.rules.check('c', { onConversation: (check) => void (found = check) })
          for (const { text, presences } of found?.rules ?? []) {
            const isIn = context.includes(JSON.stringify(text).slice(1, -1))
            expect({ text, isIn, presence: presences.at(-1)?.presence }).toEqual({
              text,
              isIn: true,
              presence: 'there',
            })
          }
          const note = (await own.recall('c')).text
          for (const { text } of found?.rules ?? []) expect(note).not.toContain(text)
        } finally {
          await own.close()
        }
      }),
      { numRuns: 8 },
    )
  })
})

describe('law: the id of a rule is its place among all sentences', () => {
  it('whatever other sentences state, and however long the message is', () => {
    const other = fc.constantFrom(
      'The harbour opens at six.',
      'I like the new tide tables.',
      'Can you look at the berth of the Marta?',
      'TypeError: x is not a function',
      '{"port": 5432, "hosts": ["a", "b"]}',
    )
    fc.assert(
      fc.property(fc.array(other, { maxLength: 40 }), fc.array(other, { maxLength: 10 }), (before, after) => {
        const content = [...before, RULE, ...after].join('\n')
        const message = createTalk().user(content)
        const found = rulesIn(message).find(({ rule: stated }) => stated.text === RULE)
        expect(found?.rule.id).toBe(`r1.${String(before.length + 1)}`)
      }),
    )
  })
})
