/** Decides whether the user allowed what a rule forbids: for one turn, or from then on. */
import { isNegated, clausesOf, hasCue } from '../../domain/text/cues.js'
import { isFormOfPermission, isPermission } from '../../domain/text/permissions.js'
import { kindOfSentence, spokenSentences } from '../../domain/text/speech.js'
import { namesAction } from '../../domain/rules/actions.js'
import { subjectOf } from '../../domain/rules/condition-key.js'
import type { Condition } from '../../domain/rules/read-rule.js'
import { isNamedIn, isProgram } from '../../domain/rules/targets.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { afterAssent, isByUser } from '../working-state/statements.js'

/** Words of consent, in addition to those of permission. */
const CONSENTS =
  /(?<![\p{L}])(?:go ahead|yes|sure|exception|approved?|permission|unfrozen|lift(?:ed)?|ausnahm\p{L}*|freigegeben|ruhig|ja|adelante|excepción|sí|permiso)(?![\p{L}])|てください|許可|解除|同意|没问题|例外|行/iu
/** It applies no longer. */
const LIFTS =
  /(?<![\p{L}])(?:no longer (?:applies|valid|needed|in force)|(?:rule|ban|freeze|limit|restriction) (?:is |has been )?(?:lifted|off|over|gone)|lifted|unfrozen|forget (?:the|that|my|what)|drop (?:the|that|my) rule|scrap (?:the|that|my)|take (?:it|that) back|never ?mind (?:the|my|what)|aufgehoben|gilt nicht mehr|vergiss (?:die|das|was)|ya no (?:aplica|vale|hace falta)|olvida (?:la|lo|eso)|levant(?:o|amos|ada|ado)|n['’]est plus valable)(?![\p{L}])|解除|撤回|取り消|もう(?:いい|大丈夫|必要ない)|取消|解禁|作废/iu
/** From now on, if it is said with a permission. */
const AGAIN =
  /(?<![\p{L}])(?:again|from now on|from here on|any ?more|anymore|wieder|ab jetzt|ab sofort|de nuevo|otra vez|a partir de ahora|desde ahora|ya|désormais|à nouveau)(?![\p{L}])|今後|これから|もう|以后|现在|恢复/iu
/** Whether a sentence ends a rule, or permits from then on. */
const isForGoodIn = (sentence: string): boolean =>
  !ONCE.test(sentence) && (LIFTS.test(sentence) || (AGAIN.test(sentence) && isPermission(sentence)))

const ONCE =
  /(?<![\p{L}])(?:once|just this|only this|this time|one[- ]time|for now|today|ausnahmsweise|diesmal|dieses (?:eine )?mal|einmal|por esta vez|esta vez|solo hoy|una vez)(?![\p{L}])|今回|今日だけ|一度だけ|这次|这一次|就这|仅此/iu
const UNDO =
  /(?<![\p{L}])(?:undo|revert|roll (?:it|that|this)? ?back|put (?:it|that|them) back|rückgängig|zurücknehmen|nimm\b.*\bzurück|deshaz\p{L}*|desház\p{L}*|revi[eé]rt\p{L}*|revertir)(?![\p{L}])|戻して|元に戻|取り消して|撤销|还原/iu

/** Whether a clause is about what a condition forbids. */
function isAbout(clause: string, condition: Condition, isWeak: boolean): boolean {
  const { actions, targets: all } = subjectOf(condition)
  // An area has no name, and what `only` names is allowed anyway.
  const targets = condition.kind === 'only' ? [] : all.filter(({ kind }) => kind !== 'area')
  const names = targets.some((target) => isNamedIn(target, clause))
  const acts = actions.some((action) => namesAction(clause, action))
  if (targets.length === 0) return acts
  // A command names its action.
  if (targets.some((target) => target.kind === 'command' || target.kind === 'flag' || isProgram(target))) return names
  return names && (acts || isWeak || actions.length === 0)
}

/** Whether a message can take back a rule: most say nothing of the kind. */
export const mayTakeBack = ({ ownText }: ReportMessage): boolean => LIFTS.test(ownText) || AGAIN.test(ownText)

export type Permission = 'none' | 'turn' | 'for good'

/** The permission in a sentence of the user, for the conditions of a rule. */
function allowedBy(sentence: string, conditions: readonly Condition[]): Permission {
  if (hasCue(sentence, 'question')) return 'none'
  const isForGood = isForGoodIn(sentence)
  const permits = isPermission(sentence) || CONSENTS.test(sentence)
  // A report that names it allows nothing: "the golden comparison fails since the change".
  if (!permits && !isForGood && kindOfSentence('user', sentence, true) !== 'request') return 'none'
  const clauses = [sentence, ...sentence.split(/(?<=[.;:!。；！])\s*|,\s|，|、/u).flatMap(clausesOf)]
  for (const clause of clauses) {
    if (
      isNegated(clause) &&
      !isFormOfPermission(clause) &&
      !LIFTS.test(clause) &&
      !/no problem|sin problema|kein problem|没问题/iu.test(clause)
    )
      continue
    if (!conditions.some((condition) => isAbout(clause, condition, permits || isForGood))) continue
    return isForGood ? 'for good' : 'turn'
  }
  return 'none'
}

/**
 * The permission in a message of the user.
 * @param before the message before it: a plain yes answers its question
 */
export function permissionIn(
  message: ReportMessage,
  before: ReportMessage | undefined,
  conditions: readonly Condition[],
): Permission {
  if (!isByUser(message) || conditions.length === 0) return 'none'
  if (UNDO.test(message.ownText)) return 'turn'
  const sentences = spokenSentences(message.ownText)
  const permissions = new Set(sentences.map((sentence) => allowedBy(sentence, conditions)))
  const strongest = (['for good', 'turn'] as const).find((each) => permissions.has(each))
  if (strongest !== undefined) return strongest
  const isAssent = afterAssent(message.ownText.trim()) !== undefined && !isNegated(sentences[0] ?? '')
  return isAssent && before?.role === 'assistant' && asks(before.ownText, conditions) ? 'turn' : 'none'
}

/** Whether a text asks to do what conditions forbid. */
const asks = (text: string, conditions: readonly Condition[]): boolean =>
  spokenSentences(text).some(
    (sentence) =>
      hasCue(sentence, 'question') &&
      !isNegated(sentence) &&
      conditions.some((condition) => isAbout(sentence, condition, true)),
  )

/** Whether a text is about what conditions forbid. */
export const isAsked = (text: string, conditions: readonly Condition[]): boolean =>
  spokenSentences(text).some((sentence) => conditions.some((condition) => isAbout(sentence, condition, true)))
