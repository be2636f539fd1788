/**
 * Checks which rules of the user the calls of a conversation broke, and whether each rule was in the model's context at
 * that moment. Computed by code: the same result on every machine, and no model is called. What a review of a model found
 * is read from the log.
 */
import type { RuleCheck } from '../../domain/rules/rule.js'
import type { Log } from '../recording/load-conversation.js'
import { CallChecker } from './call-checker.js'
import type { ReadableRule } from './find-rules.js'
import type { Reviews } from './reviews.js'
import { readRules } from './rule-fold.js'

export interface CheckOptions {
  /** Rules of files, which apply from the beginning. */
  readonly ofFiles?: readonly ReadableRule[]
  /** Only calls at or after this time, in milliseconds. */
  readonly since?: number | undefined
}

const reviewOf = ({ last, upTo }: Reviews): Pick<RuleCheck, 'review'> =>
  last === undefined ? {} : { review: { upTo, provider: last.reviewer.provider, model: last.reviewer.model } }

/** The rules of a conversation, without dropped ones, with the calls that broke them. */
export async function checkRules(
  log: Log,
  conversationId: string,
  { ofFiles = [], since }: CheckOptions = {},
): Promise<RuleCheck> {
  const { rules: all, messages, revision, compactions, reviews } = await readRules(log, conversationId, ofFiles)
  const rules = all.filter(({ rule }) => rule.standing !== 'dropped')
  const checker = new CallChecker(messages, rules, { since, reviews }).check()
  return {
    conversationId,
    revision,
    compactions,
    ...reviewOf(reviews),
    rules: rules.map((rule) => ({ ...rule.rule, ...checker.of(rule), presences: rule.presences })),
  }
}
