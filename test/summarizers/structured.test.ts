import { describe, expect, test } from '@jest/globals'
import { createScriptedLanguageModel, scriptedFailure } from '../../src/adapters/scripted/language-model.js'
import { NO_SECTIONS, type Sections } from '../../src/domain/events/index.js'
import { isSummarizerFailure, type Summarizer } from '../../src/ports/summarizer.js'
import { createPrompt } from '../../src/application/summarizers/prompts.js'
import { renderSections } from '../../src/application/summarizers/render-sections.js'
import { createStructuredSummarizer } from '../../src/application/summarizers/structured.js'
import { describeSummarizer } from '../contracts/summarizer.js'
import { chunkJob } from '../support/summary-jobs.js'

const sections: Sections = {
  ...NO_SECTIONS,
  completedWork: [{ file: 'src/billing/store.ts', action: 'edited', description: 'uses PGlite' }],
  decisions: ['PGlite in tests, because no server runs there.'],
  currentState: ['42 tests pass.'],
  errors: ['ECONNREFUSED: resolved by PGlite.'],
}
const json = JSON.stringify(sections)
const answering = (answer: string, model = 'scripted-1'): Summarizer =>
  createStructuredSummarizer({ model: createScriptedLanguageModel([answer], { model }) })
const answerTo = (answer: string) => {
  const summarizer = answering(answer)
  return summarizer.summarize(summarizer.prepare(chunkJob()))
}

describeSummarizer('structured', {
  create: () => answering(json),
  otherModel: () => answering(json, 'scripted-2'),
  otherPrompt: () =>
    createStructuredSummarizer({
      model: createScriptedLanguageModel([json]),
      prompt: createPrompt('mine', '{messages}'),
    }),
  failing: (failure) => createStructuredSummarizer({ model: createScriptedLanguageModel([scriptedFailure(failure)]) }),
  usesModel: true,
})

test('the text is what the sections say', async () => {
  expect(await answerTo(json)).toMatchObject({ sections, text: renderSections(sections) })
  expect(renderSections(sections)).toBe(
    'Decisions:\n- PGlite in tests, because no server runs there.\nCompleted work:\n- src/billing/store.ts (edited): uses PGlite\nErrors:\n- ECONNREFUSED: resolved by PGlite.\nCurrent state:\n- 42 tests pass.',
  )
})

test.each([
  ['a code block', `\`\`\`json\n${json}\n\`\`\``],
  [
    'a code block after a sentence',
    `Sure! Here is the JSON object:\n\n\`\`\`json\n${json}\n\`\`\`\nLet me know if it helps.`,
  ],
  ['a sentence before it', `Here it is:\n${json}`],
  ['a sentence after it', `${json}\nEvery field is filled.`],
  ['a list', `[${json}]`],
  ['an outer field', `{"sections": ${json}}`],
  ['thoughts before it', `<think>{"decisions": ["none"]}?</think>${json}`],
  ['a trailing comma', json.replace(/\]\}$/u, '],}')],
  ['single quotes', json.replaceAll('"', "'")],
  ['no brackets at the end', json.slice(0, -2)],
  ['comments', json.replace('{', '{ // the record\n')],
  ['unquoted keys', json.replaceAll(/"(\w+)":/gu, '$1:')],
  [
    'keys of another spelling',
    json.replaceAll(
      /"([a-z]+)([A-Z])([a-z]+)":/gu,
      (_key, a: string, b: string, c: string) => `"${a}_${b.toLowerCase()}${c}":`,
    ),
  ],
])('JSON with %s is read', async (_what, answer) => {
  expect(await answerTo(answer)).toMatchObject({ sections })
})

test('line breaks inside a string are read', async () => {
  const answer = `{"decisions": ["PGlite in tests,\nbecause no server runs there."]}`
  expect(await answerTo(answer)).toMatchObject({
    sections: { decisions: ['PGlite in tests,\nbecause no server runs there.'] },
  })
})

describe('values of another type', () => {
  test.each([
    ['a string for a list', { decisions: 'Use PGlite.' }, { decisions: ['Use PGlite.'] }],
    [
      'an object for a sentence',
      { decisions: [{ what: 'PGlite', why: 'no server' }] },
      { decisions: ['what: PGlite; why: no server'] },
    ],
    ['numbers', { facts: ['audit_log', 42] }, { facts: ['audit_log', '42'] }],
    ['null', { decisions: null, facts: ['audit_log'] }, { facts: ['audit_log'] }],
    [
      'sentences for work',
      { completedWork: ['Moved billing.'] },
      { completedWork: [{ file: '', action: '', description: 'Moved billing.' }] },
    ],
    [
      'work by file',
      { completedWork: { 'src/billing/store.ts': 'moved' } },
      { completedWork: [{ file: 'src/billing/store.ts', action: '', description: 'moved' }] },
    ],
    [
      'work with more fields',
      { completedWork: [{ file: 'store.ts', result: 'moved' }] },
      { completedWork: [{ file: 'store.ts', action: '', description: 'result: moved' }] },
    ],
    [
      'an unknown field',
      { decisions: ['Use PGlite.'], risks: ['audit_log'] },
      { decisions: ['Use PGlite.'], facts: ['risks: audit_log'] },
    ],
    ['a field of the first version', { pendingWork: ['Move invoices.'] }, { openItems: ['Move invoices.'] }],
  ])('%s: nothing is lost', async (_what, answer, expected) => {
    expect(await answerTo(JSON.stringify(answer))).toMatchObject({ sections: { ...NO_SECTIONS, ...expected } })
  })
})

test('prose is accepted as plain text', async () => {
  const text = 'The user wants the billing service on Postgres 16, and {audit_log} stays as it is.'
  const answer = await answerTo(`Here is the summary:\n\n${text}`)
  expect(answer).toMatchObject({ text, asPlainText: true })
  expect(answer).not.toHaveProperty('right.sections')
})

describe('a failure carries the answer', () => {
  test.each([
    ['nothing in any section', JSON.stringify(NO_SECTIONS), 'empty'],
    ['too much', JSON.stringify({ ...sections, errors: ['word '.repeat(2_000)] }), 'over-long'],
    ['a refusal', "I'm sorry, but I can't help with that.", 'refused'],
    ['something else', 'The weather is nice in Lisbon.', 'refused'],
  ])('%s', async (_what, answer, failure) => {
    expect(await answerTo(answer)).toMatchObject({ kind: 'SummarizerFailed', failure, answer: { text: answer } })
  })
})

test('sections that are too long are cut by whole entries, finished work first', async () => {
  const long = {
    ...sections,
    requests: ['Move billing to Postgres 16.'],
    constraints: ['"Never touch the table audit_log."'],
    openItems: ['Migrate invoices.'],
    completedWork: Array.from({ length: 60 }, (_, at) => ({
      file: `src/f${String(at)}.ts`,
      action: 'moved',
      description: 'billing moved',
    })),
  }
  const text = JSON.stringify(long)
  const summarizer = answering(text)
  const answer = await summarizer.summarize(summarizer.prepare(chunkJob()))
  if (!isSummarizerFailure(answer)) throw new Error('was accepted')
  const summary = summarizer.salvage?.(chunkJob(), [answer])
  expect(summary).toMatchObject({
    sections: {
      requests: long.requests,
      constraints: long.constraints,
      openItems: long.openItems,
      decisions: long.decisions,
    },
    shortened: { text, limit: 256 },
  })
  const left = summary?.sections?.completedWork ?? []
  expect(left).toEqual(long.completedWork.slice(-left.length))
  expect(left.length).toBeGreaterThan(5)
  expect(summary?.text.endsWith('\n[shortened]')).toBe(true)
})

test('a request has the schema and its description, with a custom prompt too', () => {
  const model = createScriptedLanguageModel([json])
  const { request } = createStructuredSummarizer({ model, prompt: createPrompt('mine', 'Say it.') }).prepare(chunkJob())
  expect(request).toMatchObject({
    prompt: 'Say it.',
    system: expect.stringContaining('"op": "close"'),
    responseSchema: { schema: { type: 'object', additionalProperties: false, required: ['operations', 'state'] } },
  })
})
