/**
 * A scripted chat endpoint that behaves as language models do: it writes more words than it was asked for, adds a
 * preamble, wraps its answer in a code fence, refuses now and then, and breaks JSON in five ways. Every answer follows
 * from the request and a seed, so a run can be repeated.
 */
import { sha256 } from '../../src/domain/values/hash.js'
import { defaultEstimator } from '../../src/domain/values/tokens.js'
import { stubAnswers, type StubAnswer } from './openai-stub.js'

export interface BehaviourOptions {
  readonly seed: string
  /** Share of the answers that are refusals. */
  readonly refusals: number
  /** The largest share of words above the number that was asked for. */
  readonly overrun: number
}

/** Counts of what the endpoint did. */
export interface Behaviour {
  readonly counts: Map<string, number>
  readonly answer: StubAnswer
}

const REFUSALS = [
  "I'm sorry, but I can't help with that.",
  'I cannot assist with this request.',
  'Sorry, I am unable to process this conversation.',
]
const PREAMBLES = [
  'Here is the summary:\n\n',
  'Sure! Here is a concise summary of the conversation:\n\n',
  '## Summary\n\n',
]
const CLOSINGS = ['\n\nLet me know if you need anything else.', '\n\nI hope this helps!']

/** Numbers from 0 to 1 that follow from a text. */
function* numbersOf(text: string): Generator<number, never> {
  for (let count = 0; ; count += 1) yield Number.parseInt(sha256(`${text} ${String(count)}`).slice(0, 8), 16) / 2 ** 32
}

const SECTION_NAMES = ['requests', 'constraints', 'decisions', 'facts', 'errors', 'openItems', 'currentState'] as const

/** The text to summarize: the longest one between two matching tags. */
function dataOf(prompt: string): string {
  const fenced = [...prompt.matchAll(/<([a-z]+-[0-9a-f]{16})>\n([\s\S]*?)\n<\/\1>/gu)].map((match) => match[2] ?? '')
  return fenced.toSorted((a, b) => b.length - a.length)[0] ?? prompt
}

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu
const isUnspaced = (text: string): boolean => (text.match(UNSPACED)?.length ?? 0) > text.length / 4

/** A character of a script without spaces, or a word, each with the space before it. */
const PIECES =
  /\s*(?:[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+)/gu

/** A summary of a coding session was measured with 1.89 tokens a word: models quote paths, but no raw output. */
const MOST_TOKENS_A_WORD = 2

/** Sentences of the data that a model could have written, in their order. */
const sentencesOf = (data: string): string[] =>
  data
    .split(/(?<=[.!?。！？])\s*|\n+/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => {
      const words = sentence.split(/\s+/u).length
      const tokens = defaultEstimator.text(sentence)
      return (
        sentence.length > 12 &&
        !/^-- .* --$/u.test(sentence) &&
        (isUnspaced(sentence) || tokens <= words * MOST_TOKENS_A_WORD)
      )
    })

/**
 * Text of the asked length, taken from sentences of the data at equal distances. In mixed text each word and each
 * character of a script without spaces takes its share of the length.
 */
function textFrom(
  data: string,
  { words, characters }: { readonly words: number; readonly characters: number },
): string {
  const sentences = sentencesOf(data)
  if (sentences.length === 0) return data.slice(0, 200)
  const share = (text: string): number => {
    const unspaced = text.match(UNSPACED)?.length ?? 0
    const spaced = text.replaceAll(UNSPACED, ' ').split(/\s+/u).filter(Boolean).length
    return unspaced / characters + spaced / words
  }
  const step = Math.max(1, Math.floor(share(sentences.join(' '))))
  const chosen = sentences.filter((_sentence, at) => at % step === 0).join(' ')
  const [most, pieces] = [[] as string[], chosen.match(PIECES) ?? []]
  let used = 0
  for (const piece of pieces) {
    used += share(piece)
    if (used > 1) break
    most.push(piece)
  }
  return most.join('')
}

const inSections = (text: string): string => {
  const entries = text.split(/(?<=[.!?])\s+/u)
  const sections: Record<string, unknown> = { completedWork: [], closedItems: [], nextSteps: [], superseded: [] }
  for (const [at, name] of SECTION_NAMES.entries())
    sections[name] = entries.filter((_entry, place) => place % SECTION_NAMES.length === at)
  return JSON.stringify(sections)
}

const DAMAGES: Readonly<Record<string, (json: string) => string>> = {
  fence: (json) => `\`\`\`json\n${json}\n\`\`\``,
  preamble: (json) => `Here is the JSON you asked for:\n${json}\nLet me know if it is right.`,
  'trailing comma': (json) => json.replaceAll('],"', ',],"'),
  'missing end': (json) => json.slice(0, -2),
  'single quotes': (json) => json.replaceAll(/"([A-Za-z]+)":/gu, "'$1':"),
}

/** The number before a unit that the request names last. */
const limitIn = (prompt: string, unit: 'words' | 'characters', otherwise: number): number =>
  Number([...prompt.matchAll(new RegExp(`(\\d[\\d,]*) ${unit}`, 'gu'))].at(-1)?.[1]?.replaceAll(',', '') ?? otherwise)

/** Makes the endpoint's behaviour; `answer` is for `startOpenAiStub`. */
export function createBehavingModel({ seed, refusals, overrun }: BehaviourOptions): Behaviour {
  const counts = new Map<string, number>()
  const count = (what: string): void => {
    counts.set(what, (counts.get(what) ?? 0) + 1)
  }
  const answer: StubAnswer = ({ body }) => {
    count('requests')
    const messages = JSON.stringify(body['messages'])
    const random = numbersOf(`${seed} ${messages}`)
    const next = (): number => random.next().value
    const pick = <Item>(items: readonly Item[]): Item | undefined => items[Math.floor(next() * items.length)]
    if (next() < refusals) {
      count('refusals')
      return stubAnswers.text(pick(REFUSALS) ?? '')
    }
    const prompt = Array.isArray(body['messages']) ? String(Object(body['messages'].at(-1))['content']) : ''
    const share = 1 + next() * overrun
    const text = textFrom(dataOf(prompt), {
      words: Math.max(5, Math.round(limitIn(prompt, 'words', 120) * share)),
      characters: Math.max(5, Math.round(limitIn(prompt, 'characters', 300) * share)),
    })
    if (body['response_format'] !== undefined || /one JSON object/u.test(messages)) {
      const json = inSections(text)
      const damage = next() < 0.3 ? pick(Object.keys(DAMAGES)) : undefined
      if (damage !== undefined) count(`broken JSON: ${damage}`)
      return stubAnswers.text(damage === undefined ? json : (DAMAGES[damage]?.(json) ?? json))
    }
    const preamble = next() < 0.2 ? (pick(PREAMBLES) ?? '') : ''
    const closing = next() < 0.1 ? (pick(CLOSINGS) ?? '') : ''
    const thoughts = next() < 0.05 ? '<think>The user wants a summary. I will keep it short.</think>\n' : ''
    const whole = `${thoughts}${preamble}${text}${closing}`
    return stubAnswers.text(next() < 0.1 ? `\`\`\`\n${whole}\n\`\`\`` : whole)
  }
  return { counts, answer }
}
