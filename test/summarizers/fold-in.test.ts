import { describe, expect, test } from '@jest/globals'
import {
  createScriptedLanguageModel,
  scriptedFailure,
  type ScriptedAnswer,
} from '../../src/adapters/scripted/language-model.js'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import type { Summarizer } from '../../src/ports/summarizer.js'
import { createSummarizer, parseSummarizerConfig } from '../../src/application/summarizers/index.js'
import { createFoldInSummarizer } from '../../src/application/summarizers/fold-in.js'
import { createPrompt } from '../../src/application/summarizers/prompts.js'
import { describeSummarizer } from '../contracts/summarizer.js'
import { chunkJob, resummarizeJob, sourceMessage } from '../support/summary-jobs.js'

const answering = (answer: ScriptedAnswer, model = 'scripted-1'): Summarizer =>
  createFoldInSummarizer({ model: createScriptedLanguageModel([answer], { model }) })

describeSummarizer('fold-in', {
  create: () => answering('The user wants the billing service moved; the tests run on PGlite now.'),
  otherModel: () => answering('Other tests.', 'scripted-2'),
  otherPrompt: () =>
    createFoldInSummarizer({
      model: createScriptedLanguageModel(['Other tests.']),
      prompt: createPrompt('mine', 'Summarize: {messages} {existing_summary}'),
    }),
  failing: (failure) => answering(scriptedFailure(failure)),
  usesModel: true,
})

test('an answer is recorded with its id and usage', async () => {
  const summarizer = answering('  The tests pass.\n')
  expect(await summarizer.summarize(summarizer.prepare(chunkJob()))).toMatchObject({
    text: 'The tests pass.',
    responseId: 'scripted-0',
    usage: { completionTokens: 18 },
  })
})

test('what is sent is what was prepared', async () => {
  const model = createScriptedLanguageModel(['The tests pass.'])
  const summarizer = createFoldInSummarizer({ model })
  const prepared = summarizer.prepare(chunkJob({ existingSummary: 'Before.' }))
  await summarizer.summarize(prepared)
  expect(model.requests).toEqual([prepared.request])
})

describe('the window', () => {
  const large = Array.from({ length: 40 }, (_, index) =>
    sourceMessage('user', `${String(index)} ${'lorem ipsum dolor '.repeat(2_000)}`),
  )

  test('a chunk above it is shortened until it fits, and says so', async () => {
    const model = createScriptedLanguageModel(['Lorem ipsum.'], { windowTokens: 8_000 })
    const summarizer = createFoldInSummarizer({ model })
    expect(
      await summarizer.summarize(
        summarizer.prepare(chunkJob({ messages: large, existingSummary: 'before '.repeat(9_000) })),
      ),
    ).not.toHaveProperty('failure')
    expect(defaultEstimator.text(model.requests[0]?.prompt ?? '')).toBeLessThan(8_000)
    expect(model.requests[0]?.prompt).toContain('characters left out')
  })

  test('where the prompt alone does not fit, no call is made', async () => {
    const model = createScriptedLanguageModel(['The tests pass.'], { windowTokens: 600 })
    const summarizer = createFoldInSummarizer({ model })
    expect(await summarizer.summarize(summarizer.prepare(chunkJob({ messages: large })))).toMatchObject({
      failure: 'request-too-large',
    })
    expect(model.requests).toEqual([])
  })
})

describe('configuration', () => {
  test('a custom prompt replaces the default one, for chunks and for summaries', () => {
    const parsed = parseSummarizerConfig({
      kind: 'openai',
      model: 'm',
      prompt: { name: 'mine', text: 'Just say hello.' },
    })
    if (parsed._tag === 'Left') throw new Error(parsed.left.detail)
    const summarizer = createSummarizer(parsed.right, createScriptedLanguageModel(['Hello.']))
    for (const job of [chunkJob(), resummarizeJob()]) {
      expect(summarizer.prepare(job)).toMatchObject({
        prompt: { name: 'mine', text: 'Just say hello.' },
        request: { prompt: 'Just say hello.' },
      })
    }
  })

  test.each([
    [{ kind: 'openai', model: 'm', prompt: { name: 'blank', text: ' \n' } }, 'prompt.text'],
    [{ kind: 'openai' }, 'model'],
    [{ kind: 'openai', model: 'm', baseUrl: 'ftp://x' }, 'baseUrl'],
    [{ kind: 'openai', model: 'm', tempreature: 1 }, 'tempreature'],
    [{ kind: 'magic' }, 'kind'],
  ])('a wrong one is refused by its field: %j', (input, field) => {
    expect(parseSummarizerConfig(input)).toMatchObject({ left: { kind: 'BadSummarizerConfig', field } })
  })

  test('each kind and strategy makes its summarizer', () => {
    const model = createScriptedLanguageModel(['x'])
    expect(createSummarizer({ kind: 'extractive' }).strategy).toBe('extractive')
    expect(createSummarizer({ kind: 'openai', model: 'm' }, model).strategy).toBe('fold-in')
    expect(createSummarizer({ kind: 'openai', model: 'm', strategy: 'structured' }, model).strategy).toBe('structured')
  })
})
