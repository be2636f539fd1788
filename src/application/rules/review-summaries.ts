/**
 * The second part of a review: if a rule was broken after a compaction, and its words are not in the summary, a model reads
 * the summary. One request for each summary.
 */
import { either as E } from 'fp-ts'
import type { EventData } from '../../domain/events/index.js'
import type { Rule } from '../../domain/rules/rule.js'
import { cleanText } from '../../domain/text/clean-text.js'
import { defaultEstimator } from '../../domain/values/tokens.js'
import type { LanguageModel, LanguageModelRequest } from '../../ports/language-model.js'
import type { Log } from '../recording/load-conversation.js'
import { fence, shortenToTokens } from '../summarizers/format-messages.js'
import { listOf, objectWithRules } from './review-answer.js'
import { CallChecker } from './call-checker.js'
import { askReviewer, failed, type ReviewFailed, type ReviewStep } from './ask-reviewer.js'
import { SUMMARY_REVIEW_FORM, SUMMARY_REVIEW_SCHEMA, summaryReviewPrompt } from './review-prompt.js'
import { isUndecided, readRules, type RuleFold } from './rule-fold.js'

type Verdicts = NonNullable<EventData<'RulesReviewed'>['summaries']>

const MOST_TOKENS = 16_000
/** The share of the window for the summary. The rest is for rules, prompt and answer. */
const SHARE_OF_WINDOW = 0.5
const SHARE_OF_RULES = 0.125
const ANSWER_TOKENS = 4_000
/** The most rules of a request. */
const MOST_RULES = 50

const ruleLine = ({ id, text }: Rule): string => `${id}: ${cleanText(text)}`

/** The first rules, at least one, as many as a request may have. */
function rulesThatFit(rules: readonly Rule[], windowTokens: number): readonly Rule[] {
  let left = windowTokens * SHARE_OF_RULES
  return rules.slice(0, MOST_RULES).filter((rule, at) => {
    left -= defaultEstimator.text(ruleLine(rule))
    return at === 0 || left >= 0
  })
}

/** The broken rules that may not be in a summary, by the revision of its compaction, the earliest first. */
function undecidedOf(fold: RuleFold): ReadonlyMap<number, readonly Rule[]> {
  const { messages, reviews } = fold
  const rules = fold.rules.filter(({ rule }) => rule.standing !== 'dropped')
  const checker = new CallChecker(messages, rules, { reviews }).check()
  const found = new Map<number, Rule[]>()
  for (const followed of rules) {
    const { rule, presences } = followed
    const last = Math.max(
      -1,
      ...checker
        .of(followed)
        .breaks.flatMap(({ revision, context }) =>
          isUndecided(context) && context.sinceCycle !== undefined ? [revision] : [],
        ),
    )
    for (const { revision, presence } of presences)
      if (
        revision < last &&
        isUndecided({ presence }) &&
        fold.summaryAfter({ revision }) !== undefined &&
        reviews.inSummary(rule.id, { revision }) === undefined
      )
        found.set(revision, [...(found.get(revision) ?? []), rule])
  }
  return new Map([...found].toSorted(([a], [b]) => a - b))
}

const numbered = (lines: readonly string[]): string =>
  lines.flatMap((line, at) => (line.trim() === '' ? [] : [`${String(at + 1)}: ${line}`])).join('\n')

function requestFor(rules: readonly Rule[], summary: string): LanguageModelRequest {
  const known = rules.map(ruleLine).join('\n')
  return {
    system: SUMMARY_REVIEW_FORM,
    prompt: summaryReviewPrompt.text.replaceAll(/\{(?:rules|summary)\}/gu, (name) =>
      name === '{rules}' ? known : fence('record', summary),
    ),
    temperature: 0,
    maxOutputTokens: ANSWER_TOKENS,
    responseSchema: SUMMARY_REVIEW_SCHEMA,
  }
}

const PRESENCES = ['there', 'changed', 'gone'] as const

/** What an answer says of each rule. "There" and "changed" must name a line that was sent. */
function verdictsOf(
  answer: string,
  rules: readonly Rule[],
  revision: number,
  sent: ReadonlySet<number>,
  isWhole: boolean,
): { readonly summaries: Verdicts; readonly rejected: number } | undefined {
  const object = objectWithRules(answer)
  if (object === undefined) return undefined
  const stated = listOf(object['rules'])
  let rejected = 0
  const summaries = rules.map(({ id: rule }): Verdicts[number] => {
    const about = stated.filter((each) => each['rule'] === rule)
    const [one] = about
    const presence = PRESENCES.find((each) => each === one?.['verdict'])
    const unclear = { rule, revision, presence: 'unclear' } as const
    // A summary that was cut may have the rule in the part that is missing.
    if (presence === undefined || about.length > 1 || (presence === 'gone' && !isWhole)) return unclear
    if (presence === 'gone') return { rule, revision, presence }
    const line = Number(/\d{1,6}/u.exec(String(one?.['line']))?.[0] ?? 0)
    if (sent.has(line)) return { rule, revision, presence, line }
    rejected += 1
    return unclear
  })
  return { summaries, rejected }
}

/**
 * Lets the model read the next summary of which words alone say too little.
 * @returns undefined if there is none
 */
export async function reviewNextSummary(
  log: Log,
  conversationId: string,
  model: LanguageModel,
  signal: AbortSignal | undefined,
): Promise<E.Either<ReviewFailed, ReviewStep | undefined>> {
  const fold = await readRules(log, conversationId, [])
  const undecided = undecidedOf(fold)
  const [next] = undecided
  if (next === undefined) return E.right(undefined)
  const [at, all] = next
  const whole = numbered(fold.summaryAfter({ revision: at }) ?? [])
  const text = shortenToTokens(whole, Math.min(MOST_TOKENS, Math.floor(model.windowTokens * SHARE_OF_WINDOW)))
  const sent = new Set(text.split('\n').flatMap((line) => /^[1-9]\d*(?=: )/u.exec(line)?.map(Number) ?? []))
  let rules = rulesThatFit(all, model.windowTokens)
  let answered = await askReviewer(model, requestFor(rules, text), summaryReviewPrompt, signal)
  // Too many rules for one answer are halved. The next request has the others.
  while (E.isLeft(answered) && answered.left.failure === 'cut-off' && rules.length > 1) {
    rules = rules.slice(0, Math.floor(rules.length / 2))
    answered = await askReviewer(model, requestFor(rules, text), summaryReviewPrompt, signal)
  }
  if (E.isLeft(answered)) return answered
  const read = verdictsOf(answered.right.text, rules, at, sent, text === whole)
  if (read === undefined) return failed('malformed', 'the answer is not in the form of a review of a summary')
  const { upTo, revision } = fold.reviews
  return E.right({
    review: {
      ...(revision < 0 ? {} : { previous: revision }),
      from: upTo + 1,
      upTo,
      known: [],
      rules: [],
      repeated: [],
      ended: [],
      breaks: [],
      summaries: read.summaries,
      reviewer: { ...answered.right.reviewer, rejected: read.rejected },
    },
    left: undecided.size - (all.length > rules.length ? 0 : 1),
  })
}
