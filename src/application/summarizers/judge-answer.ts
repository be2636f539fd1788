/**
 * Whether an answer is a summary at all: not a refusal, and about the text that it should summarize. By words alone, so
 * it finds only an answer that has nothing in common with that text.
 */
import { isSingleLetter, isVague, termCounts } from '../../domain/text/terms.js'
import type { SummaryJob } from '../../ports/summarizer.js'
import { REFUSALS } from './answer-phrases.js'
import { textOf } from './format-messages.js'

const REFUSAL = new RegExp(`^(?:${REFUSALS.join('|')})`, 'iu')
// A sentence ends at a mark that a space follows, at a mark of East Asian width, or at the end of a line.
const SENTENCE_END = /(?<=[.!?…]["”')\]]?)\s+|(?<=[。！？])|\n+/u
// Refusals are short. A longer text is not searched for one.
const LONGEST_REFUSAL = 2_000

const sentencesOf = (text: string): string[] =>
  text
    .split(SENTENCE_END)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')

/** Words that say something: no function words, no vague ones, no single letters of Chinese, Japanese or Korean. */
function* termsOf(text: string): Generator<string> {
  for (const term of termCounts(text).counts.keys()) if (!isVague(term) && !isSingleLetter(term)) yield term
}

/** The texts that a job summarizes, without the roles of the speakers. */
function* textsOf(job: SummaryJob): Generator<string> {
  if (job.kind === 'resummarize') {
    for (const { text } of job.summaries) yield text
    return
  }
  for (const { content, name, toolCalls = [] } of job.messages) {
    yield textOf(content)
    if (name !== undefined) yield name
    for (const call of toolCalls) yield `${call.function?.name ?? ''} ${call.function?.arguments ?? ''}`
  }
}

// With fewer words in the text, a good summary may share none of them.
const LEAST_TERMS = 8

/** Whether a text shares a name, a number, an identifier or the stem of a word with the text that a job summarizes. */
function sharesTerms(text: string, job: SummaryJob): boolean {
  const terms = new Set(termsOf(text))
  if (terms.size === 0) return false
  for (const source of textsOf(job)) for (const term of termsOf(source)) if (terms.has(term)) return true
  return false
}

function hasEnoughTerms(job: SummaryJob): boolean {
  const terms = new Set<string>()
  for (const source of textsOf(job)) {
    for (const term of termsOf(source)) terms.add(term)
    if (terms.size >= LEAST_TERMS) return true
  }
  return false
}

/** Whether a text begins by refusing the task. */
const isRefusal = (text: string): boolean => REFUSAL.test(text.trimStart())

/** The text without its sentences that refuse the task. */
const withoutRefusal = (text: string): string =>
  sentencesOf(text)
    .filter((sentence) => !isRefusal(sentence))
    .join(' ')

/** Whether a text refuses the task and says nothing else. */
export const isBareRefusal = (text: string): boolean =>
  text.length <= LONGEST_REFUSAL && isRefusal(text) && withoutRefusal(text) === ''

/** Why a refusal is not a summary. */
export const REFUSED = 'the answer refuses to summarize'

/**
 * Why an answer is not a summary of the job, as a sentence; undefined if it may be one.
 * @param answer the cleaned text
 */
export function whyNoSummary(answer: string, job: SummaryJob): string | undefined {
  const refuses = answer.length <= LONGEST_REFUSAL && isRefusal(answer)
  const substance = refuses ? withoutRefusal(answer) : answer
  if (refuses && (substance === '' || !sharesTerms(substance, job))) return REFUSED
  if (!hasEnoughTerms(job) || sharesTerms(answer, job)) return undefined
  return 'the answer shares no name, number or word with the text that it should summarize'
}
