/** What the user said and agreed to since the last message that did not only continue. */
import { contentWords } from '../../domain/text/content-words.js'
import type { CallStep } from '../../domain/rules/call-step.js'
import { firstLanguage, type Language } from '../../domain/rules/read-rule.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { afterAssent } from '../working-state/statements.js'
import type { FollowedRule } from './followed-rules.js'
import { isAsked, permissionIn } from './permission.js'

/** A message that only agrees or says to go on. */
const isContinuing = ({ ownText }: ReportMessage): boolean => {
  const rest = afterAssent(ownText.trim())
  return rest !== undefined && contentWords(rest).length === 0
}

export class UserTurn {
  /** The messages of the user, each with the message before it. */
  #messages: { readonly message: ReportMessage; readonly before: ReportMessage | undefined }[] = []
  /** The questions of tools to which the user agreed. */
  #agreed: string[] = []

  /** Takes a message of the user: "continue" begins no new turn. */
  take(message: ReportMessage, before: ReportMessage | undefined): void {
    if (!isContinuing(message)) {
      this.#messages = []
      this.#agreed = []
    }
    this.#messages.push({ message, before })
  }

  addAgreement(question: string): void {
    this.#agreed.push(question)
  }

  /** Whether the user allowed in this turn what a rule forbids. */
  allows(rule: FollowedRule, step: CallStep): boolean {
    const { statedBy, conditions } = rule
    if (this.#agreed.some((question) => isAsked(question, conditions))) return true
    return this.#messages.some(
      ({ message, before }) =>
        !statedBy.some(({ messageId }) => messageId === message.messageId) &&
        permissionIn(message, before, rule, step) !== 'none',
    )
  }

  /** Whether a message of the user is in this language. */
  isIn(language: Language): boolean {
    return this.#messages.some(({ message }) => firstLanguage(message.ownText) === language)
  }
}
