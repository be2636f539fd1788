/**
 * Checks which rules of the user the calls of a conversation broke, and whether each rule was in the model's context at
 * that moment. Computed by code: the same result on every machine, and no model is called.
 */
import type { RuleCheck } from '../../domain/rules/rule.js'
import type { Log } from '../recording/load-conversation.js'
import { CallChecker } from './call-checker.js'
import type { ReadableRule } from './find-rules.js'
import { readRules } from './rule-fold.js'

export interface CheckOptions {
  /** Rules of files, which apply from the beginning. */
  readonly ofFiles?: readonly ReadableRule[]
  /** Only calls at or after this time, in milliseconds. */
  readonly since?: number | undefined
}

/** The rules of a conversation, without dropped ones, with the calls that broke them. */
export async function checkRules(
  log: Log,
  conversationId: string,
  { ofFiles = [], since }: CheckOptions = {},
): Promise<RuleCheck> {
  const { rules: all, messages, revision, compactions } = await readRules(log, conversationId, ofFiles)
  const rules = all.filter(({ rule }) => rule.standing !== 'dropped')
  const checker = new CallChecker(messages, rules, { since }).check()
  return {
    conversationId,
    revision,
    compactions,
    rules: rules.map((rule) => ({ ...rule.rule, ...checker.of(rule), presences: rule.presences })),
  }
}
