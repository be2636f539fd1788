import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { sha256 } from '../../src/domain/values/hash.js'
import {
  foldInPrompt,
  interpolatePrompt,
  resummarizePrompt,
  ridePrefixPrompt,
  structuredPrompt,
  structuredResummarizePrompt,
} from '../../src/application/summarizers/prompts.js'

const NAMES = ['persona', 'existing_summary', 'messages'] as const
const fill = (template: string, some: Partial<Parameters<typeof interpolatePrompt>[0]> = {}): string =>
  interpolatePrompt({ template, persona: 'P', existingSummary: 'S', messages: 'M', ...some })

describe('interpolatePrompt', () => {
  test('replaces every occurrence', () =>
    expect(fill('{persona}{messages} {persona} {existing_summary}{messages}')).toBe('PM P SM'))
  test('an empty persona is empty, and its line is left out', () => {
    expect(fill('[{persona}]', { persona: '' })).toBe('[]')
    expect(fill('one\n{persona}\ntwo', { persona: '' })).toBe('one\ntwo')
    expect(fill('one\n{persona}\ntwo')).toBe('one\nP\ntwo')
  })
  test('the background is a paragraph of its own, or nothing', () => {
    expect(fill('one\n\n{background}\ntwo')).toBe('one\n\nS\n\ntwo')
    expect(fill('one\n\n{background}\ntwo', { existingSummary: ' ' })).toBe('one\n\ntwo')
  })
  test.each(['', '  \n', undefined])('an empty summary (%j) is named', (existingSummary) =>
    expect(fill('{existing_summary}', { existingSummary })).toBe('(no prior summary)'),
  )
  test('no text is a pattern', () =>
    expect(fill('{messages}|{persona}', { messages: "$& $1 $` $' $$", persona: '$&' })).toBe("$& $1 $` $' $$|$&"))
  test('values are not searched for placeholders', () =>
    expect(fill('{persona} {messages}', { persona: '{messages}', messages: '{persona}{existing_summary}' })).toBe(
      '{messages} {persona}{existing_summary}',
    ))
  test('a template without placeholders is the prompt', () =>
    expect(fill('Say {hello} to { messages }.\n')).toBe('Say {hello} to { messages }.\n'))

  test('law: it is the template split at its placeholders and joined with the values', () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('$&', '{messages}', '{persona}', '{existing_summary}', '$1', '{max_words}'),
    )
    const literal = fc.string().map((text) => text.replaceAll(/[{}]/gu, ''))
    fc.assert(
      fc.property(
        fc.array(fc.tuple(literal, fc.constantFrom(...NAMES))),
        literal,
        value,
        value,
        value,
        (pieces, end, persona, existingSummary, messages) => {
          const values = {
            persona,
            existing_summary: existingSummary.trim() === '' ? '(no prior summary)' : existingSummary,
            messages,
          }
          const template = pieces.map(([text, name]) => `${text}{${name}}`).join('') + end
          expect(fill(template, { persona, existingSummary, messages })).toBe(
            pieces.map(([text, name]) => text + values[name]).join('') + end,
          )
        },
      ),
    )
  })
})

describe.each([foldInPrompt, resummarizePrompt, structuredPrompt, structuredResummarizePrompt, ridePrefixPrompt])(
  '$name',
  (prompt) => {
    const limit = { tokens: 800, words: 480, characters: 900 }
    test('is named by the hash of its text', () => expect(prompt.sha256).toBe(sha256(prompt.text)))
    test('has every placeholder, and none remains', () => {
      for (const name of ['persona', 'background', 'messages']) expect(prompt.text).toContain(`{${name}}`)
      expect(fill(prompt.text, { limit })).not.toMatch(/[{}]/u)
    })
    test('names the limit in tokens, words and characters', () =>
      expect(fill(prompt.text, { limit })).toContain(
        'at most 800 tokens, which is about 480 words or 900 characters of this text',
      ))
    test('has no empty paragraph without a persona and a background', () =>
      expect(fill(prompt.text, { limit, persona: '', existingSummary: undefined })).not.toContain('\n\n\n'))
  },
)
