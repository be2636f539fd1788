/** Rules that the user stated, and the calls that broke them. */

/** The origin of a rule. */
export type RuleSource =
  /** A sentence of the user. */
  | 'statement'
  /** The user's reason for refusing a call. */
  | 'refusal'
  /** A rule file of the project. */
  | 'file'
  /** Added by a person with a command. */
  | 'added'

/** The longest rule that a person can add. */
export const MOST_CHARACTERS_OF_RULE = 2_000

/** The most characters of a rule file, and the most bytes of one on a disk. */
export const MOST_OF_RULE_FILE = 1_000_000

/** The judgement of a person on a rule: none yet, that it applies, or that it does not. */
export type Standing = 'found' | 'confirmed' | 'dropped'

/**
 * The sessions whose calls a rule is about: only its conversation, all in the same project folder, or all. The guard
 * uses it.
 */
export const RULE_SCOPES = ['conversation', 'project', 'everywhere'] as const
/** The sessions that a rule is about. */
export type RuleScope = (typeof RULE_SCOPES)[number]

/** The place where a rule was stated. */
export interface StatedAt {
  /** Revision of the message, or of the event that added the rule. Absent for a rule of a file. */
  readonly revision?: number
  /** Id of the message. */
  readonly messageId?: string
  /** ISO 8601. */
  readonly at?: string
  /** Name of the rule file, and the line, from 1. */
  readonly file?: string
  /** The line in the rule file. */
  readonly line?: number
}

/** A rule of the user. */
export interface Rule {
  /** `r30.1`: the first sentence of the message at revision 30. `r57`: added at revision 57. `AGENTS.md:12`: of a file. */
  readonly id: string
  /** In the words of the user. */
  readonly text: string
  /** Its origin. */
  readonly source: RuleSource
  /** The judgement of a person. */
  readonly standing: Standing
  /** The sessions that it is about. */
  readonly scope: RuleScope
  /** The place of its first statement. */
  readonly since: StatedAt
  /** The later message by which the user took it back. */
  readonly takenBack?: StatedAt & { readonly text: string }
  /** Why calls cannot be judged by it; absent if they can. */
  readonly unjudged?: string
}

/** Whether a rule applies now, by the word of a person: confirmed or added, and not taken back. */
export const isInForce = ({ standing, takenBack }: Pick<Rule, 'standing' | 'takenBack'>): boolean =>
  standing === 'confirmed' && takenBack === undefined

/** Whether a rule was in the model's context. */
export type Presence =
  /** Its message, or a line of the summary that says the same. */
  | 'there'
  /** The summary has most of its words and says something else, or less. */
  | 'changed'
  /** Nothing of it. */
  | 'gone'
  /** Words alone cannot decide. */
  | 'unclear'

/** Whether a rule was in the context after a compaction. */
export interface PresenceAfter {
  /** Number of the compaction. */
  readonly cycle: number
  /** Revision of the event that completed it. */
  readonly revision: number
  /** Whether the rule was there. */
  readonly presence: Presence
  /** The line of the summary, or the words of the message, that has it. */
  readonly text?: string
}

/** The context of the model at a break. */
export interface ContextAtBreak {
  /** Whether the rule was there. */
  readonly presence: Presence
  /** The compaction since which it is not there; absent if it is there, or if no message states it. */
  readonly sinceCycle?: number
  /** The words in the context that have it. */
  readonly text?: string
  /** The program that loads the file of the rule into every context, so that no message has to state it. */
  readonly loadedBy?: string
  /** ISO 8601. The file of the rule was changed then, after the session began: the agent may not have had the rule. */
  readonly changedAt?: string
}

/** What is known of a rule file, besides its text. */
export interface RuleFileFacts {
  /** The program that loads the file into every context. */
  readonly loadedBy?: string | undefined
  /** The last change of the file, ISO 8601. */
  readonly changedAt?: string | undefined
}

/** A call, or an answer, that breaks a rule. */
export interface RuleBreak {
  /** `r30.1-r171-1`: the rule, the revision of the message, and the number of the call in it. */
  readonly id: string
  /** Id of the rule. */
  readonly ruleId: string
  /** Revision of the message with the call. */
  readonly revision: number
  /** Id of the message. */
  readonly messageId: string
  /** Its time, ISO 8601. */
  readonly at?: string
  /** The tool, absent for an answer in another language. */
  readonly tool?: string
  /** The call in short. */
  readonly words: string
  /** Whether the rule was in the context of the model. */
  readonly context: ContextAtBreak
  /** The call failed. */
  readonly failed?: true
  /** The first message that noticed it. */
  readonly noticed?: {
    readonly by: 'agent' | 'user'
    readonly revision: number
    readonly messageId: string
    readonly text: string
  }
}

/** The result for a rule: no call broke it, a call did, or calls cannot be compared with it. */
export type RuleVerdict = 'kept' | 'broken' | 'unjudged'

/** A rule with the calls that broke it. */
export interface CheckedRule extends Rule {
  /** The result. */
  readonly verdict: RuleVerdict
  /** The number of calls that it was compared with. */
  readonly calls: number
  /** The breaks, in order. */
  readonly breaks: readonly RuleBreak[]
  /** Whether it was in the context after each compaction. */
  readonly presences: readonly PresenceAfter[]
}

/** The requests of a review. */
export interface ReviewProgress {
  /** Requests that were answered. */
  readonly done: number
  /** All requests. */
  readonly of: number
}

/** The model of a review. */
export interface RuleReviewer {
  /** The last event that it read. */
  readonly upTo: number
  /** The provider, such as `openai`. */
  readonly provider: string
  /** The name of the model. */
  readonly model: string
}

/** The rules of a conversation, checked. */
export interface RuleCheck {
  /** The conversation. */
  readonly conversationId: string
  /** The last event that was read. */
  readonly revision: number
  /** The number of its compactions. */
  readonly compactions: number
  /** The review of a model, which says what the messages up to `upTo` state and break. */
  readonly review?: RuleReviewer
  /** Its rules, in order of their first statement. */
  readonly rules: readonly CheckedRule[]
}
