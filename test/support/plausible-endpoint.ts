/**
 * An endpoint on this machine that answers as a model might: with sentences of the messages that it is asked to
 * summarize, those with most names and numbers, in their order. If the request has a JSON schema, the answer follows it.
 * The same request always has the same answer.
 */
import { sentencesOf } from '../../src/domain/text/sentences.js'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import { startOpenAiStub, type OpenAiStub, type StubAnswer } from './openai-stub.js'

/** Tokens of an English word, rounded down so that the answer stays below the limit of the prompt. */
const TOKENS_PER_WORD = 1.2
/** Part of `max_tokens` that an answer takes if the prompt names no number of words. */
const SHARE_OF_LIMIT = 0.4
const MOST_SENTENCE_CHARACTERS = 300

type Json = Readonly<Record<string, unknown>>
const objectOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}

/** The text that the prompt fences: the messages, which come after the background. */
function fencedText(prompt: string): string {
  const fenced = Array.from(prompt.matchAll(/<([\w-]+)>\n([^]*?)\n<\/\1>/gu), ([, , text = '']) => text)
  return fenced.at(-1) ?? prompt
}

const weightOf = (sentence: string): number =>
  (sentence.match(/\p{Lu}\p{L}+|\d+|[\w-]+[/.]\w+|`[^`]+`/gu)?.length ?? 0) / Math.sqrt(10 + sentence.length)

/** The heaviest sentences that fit, in their order. */
function pickSentences(text: string, maxTokens: number): string[] {
  const sentences = sentencesOf(text)
    .map((sentence, at) => ({ text: sentence.text.slice(0, MOST_SENTENCE_CHARACTERS).trim(), at }))
    .filter((sentence) => sentence.text.length > 20)
  let left = maxTokens
  return sentences
    .toSorted((a, b) => weightOf(b.text) - weightOf(a.text) || a.at - b.at)
    .filter((sentence) => {
      left -= defaultEstimator.text(sentence.text) + 2
      return left > 0
    })
    .toSorted((a, b) => a.at - b.at)
    .map((sentence) => sentence.text)
}

/** A value of the schema; each text takes the next of the sentences. */
function valueOf(given: unknown, sentences: string[], perList: number): unknown {
  const schema = objectOf(given)
  if (Array.isArray(schema['enum'])) return schema['enum'][0]
  if (Array.isArray(schema['anyOf'])) return valueOf(schema['anyOf'][0], sentences, perList)
  if (schema['type'] === 'object')
    return Object.fromEntries(
      Object.entries(objectOf(schema['properties'])).map(([name, property]) => [
        name,
        valueOf(property, sentences, perList),
      ]),
    )
  if (schema['type'] === 'array')
    return Array.from({ length: Math.min(perList, sentences.length) }, () =>
      valueOf(schema['items'], sentences, perList),
    )
  return schema['type'] === 'string' ? (sentences.shift() ?? '') : 0
}

function answerTo(body: Json): { readonly prompt: string; readonly content: string } {
  const messages: readonly unknown[] = Array.isArray(body['messages']) ? body['messages'] : []
  const { content: asked } = objectOf(messages.at(-1))
  const prompt = typeof asked === 'string' ? asked : ''
  const words = /(\d[\d,]*) words/u.exec(prompt)?.[1]
  const limit =
    words === undefined
      ? Number(body['max_tokens'] ?? body['max_completion_tokens'] ?? 512) * SHARE_OF_LIMIT
      : Number(words.replaceAll(',', '')) * TOKENS_PER_WORD
  const sentences = pickSentences(fencedText(prompt), limit)
  const schema = objectOf(objectOf(body['response_format'])['json_schema'])['schema']
  if (schema === undefined) return { prompt, content: sentences.join('\n') || 'Nothing was said.' }
  const lists = Object.keys(objectOf(objectOf(schema)['properties'])).length
  const perList = Math.max(1, Math.ceil(sentences.length / Math.max(1, lists)))
  return { prompt, content: JSON.stringify(valueOf(schema, sentences, perList)) }
}

const completion = ({ prompt, content }: ReturnType<typeof answerTo>): StubAnswer => ({
  status: 200,
  body: {
    id: 'chatcmpl-plausible',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content, refusal: null } }],
    usage: {
      prompt_tokens: defaultEstimator.text(prompt),
      completion_tokens: defaultEstimator.text(content),
    },
  },
})

/** Answers any request: the list of these models, or a summary. */
export const plausibleAnswers =
  (models: readonly string[]): StubAnswer =>
  ({ path, body }) =>
    path.endsWith('/models')
      ? { status: 200, body: { object: 'list', data: models.map((id) => ({ id, object: 'model' })) } }
      : completion(answerTo(body))

/** Starts the endpoint with these models. */
export const startPlausibleEndpoint = (models: readonly string[]): Promise<OpenAiStub> =>
  startOpenAiStub(plausibleAnswers(models))
