import { describe, expect, test } from '@jest/globals'
import { createScriptedLanguageModel, scriptedFailure } from '../../src/adapters/scripted/language-model.js'
import type { Sections } from '../../src/domain/events/index.js'
import type { Summarizer } from '../../src/ports/summarizer.js'
import { createPrompt } from '../../src/summarizers/prompts.js'
import { createStructuredSummarizer, renderSections } from '../../src/summarizers/structured.js'
import { describeSummarizer } from '../contracts/summarizer.js'
import { chunkJob } from '../support/summary-jobs.js'

const sections: Sections = {
  completedWork: [{ file: 'src/billing/store.ts', action: 'edited', description: 'uses PGlite' }],
  decisions: ['PGlite in tests, because no server runs there.'],
  currentState: ['42 tests pass.'],
  pendingWork: [],
  errors: ['ECONNREFUSED: resolved by PGlite.'],
}
const json = JSON.stringify(sections)
const answering = (answer: string, model = 'scripted-1'): Summarizer =>
  createStructuredSummarizer({ model: createScriptedLanguageModel([answer], { model }) })
const answerTo = (answer: string) => {
  const summarizer = answering(answer)
  return summarizer.summarize(summarizer.prepare(chunkJob()))()
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
  expect(await answerTo(json)).toMatchObject({ right: { sections, text: renderSections(sections) } })
  expect(renderSections(sections)).toBe(
    'Completed work:\n- src/billing/store.ts (edited): uses PGlite\nDecisions:\n- PGlite in tests, because no server runs there.\nCurrent state:\n- 42 tests pass.\nErrors:\n- ECONNREFUSED: resolved by PGlite.',
  )
})

test.each([
  ['a code block', `\`\`\`json\n${json}\n\`\`\``],
  ['a sentence in front', `Here it is:\n${json}`],
])('JSON in %s is read', async (_what, answer) => {
  expect(await answerTo(answer)).toMatchObject({ right: { sections } })
})

describe('what is not what was asked for', () => {
  test.each([
    ['no JSON', 'The user wants a summary.', 'malformed'],
    ['half of it', json.slice(0, 40), 'malformed'],
    ['a field of the wrong type', JSON.stringify({ ...sections, decisions: 'none' }), 'malformed'],
    ['a field that is missing', JSON.stringify({ decisions: [] }), 'malformed'],
    [
      'nothing in any section',
      JSON.stringify({ completedWork: [], decisions: [], currentState: [], pendingWork: [], errors: [] }),
      'empty',
    ],
    ['too much', JSON.stringify({ ...sections, errors: ['word '.repeat(2_000)] }), 'over-long'],
  ])('%s', async (_what, answer, failure) => {
    expect(await answerTo(answer)).toMatchObject({ left: { kind: 'SummarizerFailed', failure } })
  })
})

test('the model is held to the schema, and told of it under a custom prompt too', () => {
  const model = createScriptedLanguageModel([json])
  const { request } = createStructuredSummarizer({ model, prompt: createPrompt('mine', 'Say it.') }).prepare(chunkJob())
  expect(request).toMatchObject({
    prompt: 'Say it.',
    system: expect.stringContaining('completedWork'),
    responseSchema: { schema: { type: 'object', additionalProperties: false, required: Object.keys(sections) } },
  })
})
