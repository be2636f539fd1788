/** The part of the ledger's interface that concerns the rules of the user. */
import type { OptionsOf } from '../schema/call.js'
import type * as calls from '../schema/calls/rules.js'
import type { Rule, RuleScope } from '../domain/rules/rule.js'

export type {
  CheckedRule,
  ContextAtBreak,
  Presence,
  PresenceAfter,
  ReviewProgress,
  Rule,
  RuleBreak,
  RuleCheck,
  RuleReviewer,
  RuleScope,
  RuleSource,
  RuleVerdict,
  Standing,
  StatedAt,
} from '../domain/rules/rule.js'
export type { RuleFile } from '../schema/calls/rules.js'

/** Options of a list of rules. */
export type ListRulesOptions = OptionsOf<typeof calls.listRules>
/** Options of a check. */
export type CheckRulesOptions = OptionsOf<typeof calls.checkRules>
/** Options of a review. */
export type ReviewRulesOptions = OptionsOf<typeof calls.reviewRules>
/** Options of a list of confirmed rules. */
export type ConfirmedRulesOptions = OptionsOf<typeof calls.confirmedRules>
/** The scope of a rule, with the actor and the request of its change. */
export type RecordRuleOptions = OptionsOf<typeof calls.addRule>
/** Actor and request of a change of rules. */
export type DropRuleOptions = OptionsOf<typeof calls.dropRule>

/** The rules of a conversation. */
export interface RuleList {
  /** The conversation. */
  readonly conversationId: string
  /** The last event that was read. */
  readonly revision: number
  /** The project folder, if a program recorded it. */
  readonly project?: string
  /** Its rules, in order of their first statement. */
  readonly rules: readonly Rule[]
}

/** A rule that was confirmed, dropped or added. */
export interface RecordedRule {
  /** The conversation. */
  readonly conversationId: string
  /** The last event of the conversation. */
  readonly revision: number
  /** Id of the rule. */
  readonly rule: string
  /** The sessions that it is about; absent for a dropped rule. */
  readonly scope?: RuleScope
}

/** The result of a review. */
export interface RuleReview {
  /** The conversation. */
  readonly conversationId: string
  /** The last event of the conversation. */
  readonly revision: number
  /** The last event that a model has read. */
  readonly upTo: number
  /** Requests to the model; 0 if it had read all messages before. */
  readonly requests: number
  /** New rules. */
  readonly rules: number
  /** New breaks. */
  readonly breaks: number
  /** Statements of the model that do not follow from the messages; they were left out. */
  readonly rejected: number
  /** Tokens of the requests and answers, if the model reported them. */
  readonly usage?: { readonly promptTokens: number; readonly completionTokens: number }
}

/** The counts of a check. */
export interface RuleTotals {
  /** Conversations that were read. */
  readonly conversations: number
  /** Rules that were found. */
  readonly rules: number
  /** Rules that calls can be compared with. */
  readonly judged: number
  /** Rules that at least one call broke. */
  readonly broken: number
  /** Calls and answers that broke a rule. */
  readonly breaks: number
  /** Breaks at which the rule was not, or not whole, in the context of the model. */
  readonly withoutRule: number
}

/** Rules of the user: those that conversations state, and the calls that broke them. Needs no model. */
export interface LedgerRules {
  /** The rules that a conversation states, in the user's words, also those that were dropped. */
  list(conversationId: string, options?: ListRulesOptions): Promise<RuleList>
  /**
   * The rules that people confirmed or added and that nobody took back, of all conversations that have one. With
   * `project`: those that apply to sessions in this folder.
   */
  confirmed(options?: ConfirmedRulesOptions): Promise<readonly RuleList[]>
  /**
   * Compares the calls of a conversation, or of all, with the rules that were in force and not dropped.
   * `onConversation` gets the rules and breaks of each conversation.
   */
  check(conversationId?: string, options?: CheckRulesOptions): Promise<RuleTotals>
  /**
   * Lets the model of the ledger's summarizer read the words of the user and the calls, and records the rules and breaks
   * that it finds, each as a place in a message. Lists and checks then use them for the messages that it read. Messages
   * of an earlier review are not sent again. Errors: `ReviewFailed`, `BadInput` without a model.
   */
  review(conversationId: string, options?: ReviewRulesOptions): Promise<RuleReview>
  /** Records that a rule of the conversation applies. Errors: `NoSuchRule`. */
  confirm(conversationId: string, rule: string, options?: RecordRuleOptions): Promise<RecordedRule>
  /** Records that a sentence is no rule, or no longer applies. It is not checked. Errors: `NoSuchRule`. */
  drop(conversationId: string, rule: string, options?: DropRuleOptions): Promise<RecordedRule>
  /**
   * Adds a rule for the calls from now on, at most 2,000 characters. If a rule of the conversation has the same text,
   * it is confirmed instead.
   */
  add(conversationId: string, text: string, options?: RecordRuleOptions): Promise<RecordedRule>
}
