/**
 * Laws of the working state: it is the fold of the recorded operations, its items rest on messages, and no context shows
 * a statement of the user without the later one that corrects it.
 */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { createExtractiveSummarizer } from '../../src/application/summarizers/extractive.js'
import { Corrections } from '../../src/application/working-state/corrections.js'
import { applyOperations, groupsOf, type ItemGroup } from '../../src/domain/conversation/working-state.js'
import { NO_STATE, type WorkingState } from '../../src/domain/events/index.js'
import { contentText } from '../../src/domain/values/message.js'
import { say, SMALL } from '../support/conversations.js'
import { undo } from '../support/edition-history.js'
import { CONVERSATION, contextIn, createHarness, createScriptedSummarizer, type Harness } from '../support/harness.js'
import { repeated, runsOf } from '../support/length.js'

const WORK = [
  'Please add a test for the parser',
  'Look at the failing build',
  'Rename the helper in the utilities',
  'What does the retry loop do?',
  'The weather is awful today',
  'Refactor the upload handler into two functions',
]

/** What the user says in the first turn, and how it is changed later, in five languages. */
const CHANGES: readonly (readonly [said: string, old: string, changed: string, newest: string])[] = [
  [
    'The cloud bill must stay under $340.',
    '$340',
    'The bill may now go up to $520, the old figure no longer holds.',
    '$520',
  ],
  ['The cloud bill must stay under $340.', '$340', 'Actually, raise the cap to $520.', '$520'],
  ['The cloud bill must stay under $340.', '$340', 'Never mind the old figure, $520 is fine.', '$520'],
  ['The release is on Friday, 14 March 2026.', '14 March', 'The release moved to 28 March 2026.', '28 March'],
  [
    'Use branch release-7 as the base.',
    'release-7',
    'Forget release-7, the base branch is main-2 from now on.',
    'main-2',
  ],
  ['Never deploy before 18:00.', '18:00', 'From now on you may deploy after 16:00, no longer only at 18:00.', '16:00'],
  [
    'Die Rechnung darf höchstens 340 € betragen.',
    '340 €',
    'Die Rechnung darf jetzt bis 520 € gehen, die alte Grenze gilt nicht mehr.',
    '520 €',
  ],
  ['Das Treffen ist am Montag um 9:00 Uhr.', '9:00', 'Das Treffen ist doch erst um 11:30 Uhr.', '11:30'],
  ['La facture ne doit pas dépasser 340 €.', '340 €', 'Finalement, la facture peut monter à 520 €.', '520 €'],
  [
    'La factura debe quedar por debajo de 340 €.',
    '340 €',
    'Ahora la factura puede subir a 520 €, olvida la cifra vieja.',
    '520 €',
  ],
  [
    'クラウドの予算は3万4千円以内にしてください。予算は34000円です。',
    '34000円',
    'やっぱり予算は52000円に変更します。',
    '52000円',
  ],
  ['门的密码是7741，请记住。', '7741', '门的密码改成8852了，不再是以前的。', '8852'],
]

const answerOf = (at: number): string => `Step ${String(at)} is looked at, and the module handles it. `.repeat(6).trim()

const viewOf = (harness: Harness): Promise<string | undefined> =>
  harness.conversations.load(CONVERSATION).then((state) => state.view?.text)

const withRules = (modelMaxTokens = 1_600): Harness =>
  createHarness({
    policy: { ...SMALL, modelMaxTokens, maxSummaryTokens: 48, view: 'working-state' },
    summarizer: { ...createScriptedSummarizer(), ...createExtractiveSummarizer() },
  })

/** The working states that the chunks of a log give, by batch. */
async function folded(harness: Harness): Promise<Map<string, WorkingState>> {
  const operations = new Map(
    (await harness.eventsOf('ChunkSummarized')).map(({ data }) => [data.chunkId, data.operations ?? []]),
  )
  let state = NO_STATE
  const states = new Map<string, WorkingState>()
  for (const { data } of await harness.eventsOf('BatchArchived')) {
    state = applyOperations(state, operations.get(data.chunkId) ?? [])
    states.set(data.batchId, state)
  }
  return states
}

describe('the working state', () => {
  it('is the fold of its operations at every batch, and each item rests on recorded messages', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(WORK.length - 1), fc.nat(CHANGES.length - 1), fc.nat(9)), {
          minLength: 15,
          maxLength: 40,
        }),
        async (turns) => {
          const harness = withRules()
          for (const [at, [work, change, kind]] of turns.entries()) {
            const [said, , changed] = CHANGES[change] ?? ['', '', '', '']
            const content = kind === 0 ? said : kind === 1 ? changed : (WORK[work] ?? '')
            await harness.appended([say(2 * at, { role: 'user', content }), say(2 * at + 1, { role: 'assistant' })])
            await harness.compact()
          }
          const states = await folded(harness)
          const revisions = new Set((await harness.eventsOf('MessageAppended')).map(({ revision }) => revision))
          for (const { data } of await harness.eventsOf('BatchArchived')) {
            expect(data.workingState ?? NO_STATE).toEqual(states.get(data.batchId))
            for (const { sourceRevisions } of data.workingState?.items ?? [])
              expect(sourceRevisions.every((revision) => revisions.has(revision))).toBe(true)
          }
          const { state } = { state: await harness.conversations.load(CONVERSATION) }
          expect(contextIn(state)).toEqual(contextIn(await harness.restart().conversations.load(CONVERSATION)))
        },
      ),
      { numRuns: runsOf(12) },
    )
  })

  it('is what it was before a cycle, once the cycle is undone', async () => {
    const harness = withRules()
    const views: (string | undefined)[] = []
    for (let at = 0; at < 40; at += 1) {
      const before = await viewOf(harness)
      await harness.appended([
        say(2 * at, { role: 'user', content: WORK[at % WORK.length] ?? '' }),
        say(2 * at + 1, { role: 'assistant', content: answerOf(at) }),
      ])
      if ((await harness.compact()).messagesCompressed > 0) views.push(before)
    }
    expect(views.length).toBeGreaterThan(2)
    expect(await undo(harness)).toBe(true)
    expect(await viewOf(harness)).toBe(views.at(-1))
  })

  it.each(CHANGES)('shows %s never without its change', async (said, old, changed, newest) => {
    const harness = withRules()
    const counts = { old: 0, newest: 0, views: 0 }
    for (let at = 0; at < 80; at += 1) {
      const content = at === 0 ? `Hello, I run a shop. ${said}` : at === 24 ? changed : (WORK[at % WORK.length] ?? '')
      await harness.appended([
        say(2 * at, { role: 'user', content }),
        say(2 * at + 1, { role: 'assistant', content: answerOf(at) }),
      ])
      await harness.compact()
      const { messages } = contextIn(await harness.conversations.load(CONVERSATION))
      if (at < 24 || (await harness.eventsOf('MessagesPruned')).length === 0) continue
      const text = messages.map((message) => contentText(message.content)).join('\n')
      counts.views += 1
      counts.newest += Number(text.includes(newest))
      counts.old += Number(text.includes(old) && !text.includes(newest))
    }
    expect(counts.views).toBeGreaterThan(20)
    expect(counts).toEqual({ old: 0, newest: counts.views, views: counts.views })
  })

  it.each([1_000, 1_600, 3_000])('keeps what was said first through all cycles, at %i tokens', async (tokens) => {
    const first = [
      'Never push to the main branch without asking me.',
      'The cloud bill must stay under $340.',
      'The base commit is 4f2a91c.',
      'The door code is 7741.',
      'I prefer tabs over spaces.',
    ]
    const harness = withRules(tokens)
    for (let at = 0; at < 120; at += 1) {
      const content = first[at] ?? WORK[at % WORK.length] ?? ''
      await harness.appended([
        say(2 * at, { role: 'user', content }),
        say(2 * at + 1, { role: 'assistant', content: answerOf(at) }),
      ])
      await harness.compact()
    }
    const state = await harness.conversations.load(CONVERSATION)
    expect(state.cycles).toBeGreaterThan(3)
    const text = contextIn(state)
      .messages.map((message) => contentText(message.content))
      .join('\n')
    expect(first.filter((each) => !text.includes(each))).toEqual([])
    expect(groupsOf(state.batches.at(-1)?.workingState ?? NO_STATE).length).toBeGreaterThan(4)
  })
})

it('law: a correction is about the statement that it changes, and about no other', () => {
  // Ordinary statements of real work, none of which is about another one.
  const unrelated = [
    'Never push on Fridays.',
    'The tests run on Postgres 16 only.',
    'Please use the paging helper of the repository for the export.',
    'My name is Ines Ferro.',
    'wait, let us look at the comments of copilot first',
    'now explain #2 to me, I do not understand it',
    'update AGENTS.md to match the recent change, commit and push',
    'ok, create a branch refactor from main',
    'no, I did not say commit anything',
    'I just reset to match the remote, we need to rebase now',
    'put the new skill in pi/skills/android instead of the root',
    'Antworte bitte auf Deutsch.',
    'El puerto del servidor es 5544.',
    '本番のデータベースには触らないでください。',
    'コミットメッセージにはスコープを必ず付けてください。',
  ]
  const subjects = [
    [
      'The cloud bill must stay under $340.',
      (value: string) => `Actually, raise the cap of the cloud bill to ${value}.`,
    ],
    ['The base commit is 4f2a91c.', () => 'The base commit is now 88be012, no longer 4f2a91c.'],
    [
      'Die Rechnung darf höchstens 340 € betragen.',
      (value: string) => `Die Rechnung darf jetzt bis ${value} betragen, die alte Grenze gilt nicht mehr.`,
    ],
    [
      'クラウドの請求額は340ドルまでにしてください。',
      () => 'やっぱりクラウドの請求額は520ドルまでに変更してください。',
    ],
    ['El presupuesto del viaje es de 340 euros.', () => 'Mejor: el presupuesto del viaje sube a 520 euros.'],
  ] as const
  const group = (text: string, at: number): ItemGroup => [
    { id: `S${String(at)}`, kind: 'statement', by: 'user', text, sourceRevisions: [at], weight: 90 },
  ]
  fc.assert(
    fc.property(
      fc.constantFrom(...subjects),
      fc.uniqueArray(fc.constantFrom(...unrelated), { minLength: 2, maxLength: 12 }),
      fc.nat(),
      ([first, later], rest, place) => {
        const texts = rest.toSpliced(place % rest.length, 0, first)
        const groups = texts.map((text, at) => group(text, at + 1))
        const corrections = new Corrections()
        expect(corrections.correctedBy(later('$520'), groups, 100)?.[0]?.text).toBe(first)
        for (const text of rest)
          expect([
            text,
            corrections.correctedBy(
              text,
              groups.filter(([item]) => item?.text !== text),
              100,
            )?.[0]?.text,
          ]).toEqual([text, undefined])
      },
    ),
    { numRuns: repeated(200, 50) },
  )
})

it('law: a task that is given again takes back no rule that was said with it', () => {
  const rules = [
    'Never touch harbour_prod.',
    'Do not push without asking me.',
    'never mock the database.',
    'Don’t use emojis!',
    'Niemals in Produktion schreiben.',
    'No toques la base de producción.',
  ]
  const tasks = [
    'read notes.txt and list the folder',
    'run the harbour import for plan.txt',
    'fix the parser of dates.ts',
  ]
  fc.assert(
    fc.property(
      fc.constantFrom(...rules),
      fc.constantFrom(...tasks),
      fc.constantFrom(' ', '\n', ' [['),
      fc.constantFrom('Go on: ', 'Again: ', 'Go on. [[step 2: ', ''),
      fc.boolean(),
      (rule, task, joint, beginning, isRuleLast) => {
        const text = isRuleLast ? `${task}. ${rule}` : `${rule}${joint}${task}`
        const group: ItemGroup = [{ id: 'S1', kind: 'statement', by: 'user', text, sourceRevisions: [1], weight: 100 }]
        expect([text, new Corrections().correctedBy(`${beginning}${task}`, [group], 9)]).toEqual([text, undefined])
      },
    ),
    { numRuns: repeated(200, 50) },
  )
})

it.each([
  ['Never deploy the billing service on Fridays.', 'Did the billing service deploy to staging?'],
  ['Never deploy the billing service on Fridays.', 'Deploy the billing service to staging.'],
  [
    'Never run the integration tests against the production database.',
    'Run the integration tests against the staging database.',
  ],
  ['Retry at most 3 times.', 'Actually, what time is it in Tokyo?'],
])('%j is not taken back by %j', (rule, later) => {
  const group: ItemGroup = [{ id: 'S1', kind: 'statement', by: 'user', text: rule, sourceRevisions: [1], weight: 100 }]
  expect(new Corrections().correctedBy(later, [group], 9)).toBeUndefined()
})
