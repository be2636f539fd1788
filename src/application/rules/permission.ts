/** Decides whether the user allowed what a rule forbids: for one turn, or from then on. */
import { isNegated, clausesOf, hasCue } from '../../domain/text/cues.js'
import { kindOfSentence, spokenSentences } from '../../domain/text/speech.js'
import { ACTIONS, type Action } from '../../domain/rules/actions.js'
import type { Condition } from '../../domain/rules/read-rule.js'
import { isNamedIn, isProgram, type Target } from '../../domain/rules/targets.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { afterAssent, isByUser } from '../working-state/statements.js'

const PERMITS =
  /(?<![\p{L}])(?:may|can|could|allowed|feel free|go ahead|okay|ok|fine|yes|sure|exception|approved?|permission|unfrozen|lift(?:ed)?|darfst|dürfen|kannst|ausnahm\p{L}*|erlaubt|freigegeben|ruhig|ja|puedes|podéis|permitid\p{L}+|adelante|excepción|sí|permiso|peux|pouvez)(?![\p{L}])|て(?:も)?(?:よい|良い|いい|OK|大丈夫)|てください|許可|解除|可以|允许|同意|没问题|例外|行/iu
const FOR_GOOD =
  /(?<![\p{L}])(?:again|from now on|from here on|no longer|not any ?more|any ?more|anymore|lifted|unfrozen|is over|are over|forget (?:the|that|my|what)|drop (?:the|that|my)|scrap|take (?:it|that) back|never ?mind|no need to|wieder|ab jetzt|ab sofort|nicht mehr|aufgehoben|vergiss|ya (?:puedes|no)|de nuevo|otra vez|a partir de ahora|desde ahora|olvida|levant\p{L}+|retir\p{L}+|désormais|à nouveau)(?![\p{L}])|もう|今後|これから(?:は)?|解除|撤回|取り消|以后|现在可以|不用再|取消|解禁|作废|恢复/iu
const ONCE =
  /(?<![\p{L}])(?:once|just this|only this|this time|one[- ]time|for now|today|ausnahmsweise|diesmal|dieses (?:eine )?mal|einmal|por esta vez|esta vez|solo hoy|una vez)(?![\p{L}])|今回|今日だけ|一度だけ|这次|这一次|就这|仅此/iu
const UNDO =
  /(?<![\p{L}])(?:undo|revert|roll (?:it|that|this)? ?back|put (?:it|that|them) back|restore|rückgängig|zurücknehmen|nimm\b.*\bzurück|deshaz\p{L}*|desház\p{L}*|revi[eé]rt\p{L}*|revertir|restaura)(?![\p{L}])|戻して|元に戻|取り消して|撤销|还原|恢复/iu

const matches = (pattern: RegExp, text: string): boolean =>
  new RegExp(pattern.source, pattern.flags.replace('g', '')).test(text)

const wordsOf = (action: Action): RegExp | undefined => ACTIONS.find((row) => row.action === action)?.words

const hasAction = (text: string, actions: readonly Action[]): boolean =>
  actions.some((action) => {
    const words = wordsOf(action)
    return words !== undefined && matches(words, text.toLowerCase())
  })

const subjectOf = (
  condition: Condition,
): { readonly actions: readonly Action[]; readonly targets: readonly Target[] } => {
  switch (condition.kind) {
    case 'forbid':
      return condition
    case 'only':
      return { actions: [condition.action], targets: [] }
    case 'first':
      return { actions: [condition.action], targets: condition.commands }
    case 'with':
      return { actions: [], targets: [condition.command, condition.flag] }
    case 'cap':
      return { actions: [condition.action], targets: [] }
    case 'window':
      return condition
    case 'tool':
      return { actions: condition.actions, targets: [] }
    case 'language':
      return { actions: [], targets: [] }
  }
}

/** Whether a clause is about what a condition forbids. */
function isAbout(clause: string, condition: Condition, isWeak: boolean): boolean {
  const { actions, targets: all } = subjectOf(condition)
  // An area is not named by its name.
  const targets = all.filter(({ kind }) => kind !== 'area')
  const names = targets.some((target) => isNamedIn(target, clause))
  const acts = hasAction(clause, actions)
  if (targets.length === 0) return acts
  // A command names its action.
  if (targets.some((target) => target.kind === 'command' || target.kind === 'flag' || isProgram(target))) return names
  return names && (acts || isWeak || actions.length === 0)
}

/** Whether a message can take back a rule: most say nothing of the kind. */
export const mayTakeBack = ({ ownText }: ReportMessage): boolean => FOR_GOOD.test(ownText)

export type Permission = 'none' | 'turn' | 'for good'

/** What a sentence of the user allows of what a rule forbids. */
function allowedBy(sentence: string, conditions: readonly Condition[]): Permission {
  if (hasCue(sentence, 'question')) return 'none'
  const isForGood = FOR_GOOD.test(sentence) && !ONCE.test(sentence)
  const permits = PERMITS.test(sentence)
  // A report that names it allows nothing: "the golden comparison fails since the change".
  if (!permits && !isForGood && kindOfSentence('user', sentence, true) !== 'request') return 'none'
  const clauses = [sentence, ...sentence.split(/(?<=[.;:!。；！])\s*|,\s|，|、/u).flatMap(clausesOf)]
  for (const clause of clauses) {
    if (
      isNegated(clause) &&
      !(isForGood && FOR_GOOD.test(clause)) &&
      !/no problem|sin problema|kein problem|没问题/iu.test(clause)
    )
      continue
    if (!conditions.some((condition) => isAbout(clause, condition, permits || isForGood))) continue
    return isForGood ? 'for good' : 'turn'
  }
  return 'none'
}

const LEAST: Readonly<Record<Permission, number>> = { none: 0, turn: 1, 'for good': 2 }

/**
 * What a message of the user allows.
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
  const permissions = sentences.map((sentence) => allowedBy(sentence, conditions))
  const strongest = permissions.toSorted((a, b) => LEAST[b] - LEAST[a])[0] ?? 'none'
  if (strongest !== 'none') return strongest
  const isAssent = afterAssent(message.ownText.trim()) !== undefined && !isNegated(sentences[0] ?? '')
  return isAssent && before !== undefined && before.role === 'assistant' && isAsked(before.ownText, conditions)
    ? 'turn'
    : 'none'
}

/** Whether a text asks about what conditions forbid. */
export const isAsked = (text: string, conditions: readonly Condition[]): boolean =>
  spokenSentences(text).some((sentence) => conditions.some((condition) => isAbout(sentence, condition, true)))
