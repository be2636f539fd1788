/** Decides whether the user allowed what a rule forbids: for one turn, or from then on. */
import { isNegated, clausesOf, hasCue } from '../../domain/text/cues.js'
import { isFormOfPermission, isPermission } from '../../domain/text/permissions.js'
import { contentWords } from '../../domain/text/content-words.js'
import { kindOfSentence, spokenSentences } from '../../domain/text/speech.js'
import { namesAction } from '../../domain/rules/actions.js'
import { subjectOf } from '../../domain/rules/condition-key.js'
import { asksFirst } from '../../domain/rules/asked-clauses.js'
import type { CallStep } from '../../domain/rules/call-step.js'
import type { Condition } from '../../domain/rules/read-rule.js'
import { isNamedIn, isProgram } from '../../domain/rules/targets.js'
import type { Rule } from '../../domain/rules/rule.js'
import type { ReportMessage } from '../loss-report/report-input.js'
import { afterAssent, isByUser } from '../working-state/statements.js'

/** Words of consent, in addition to those of permission. */
const CONSENTS =
  /(?<![\p{L}])(?:go ahead|yes|sure|exception|approved?|permission|unfrozen|lift(?:ed)?|ausnahm\p{L}*|freigegeben|ruhig|ja|adelante|excepción|sí|permiso)(?![\p{L}])|てください|許可|解除|同意|没问题|例外|行/iu
/** It applies no longer. */
const LIFTS =
  /(?<![\p{L}])(?:no longer (?:appl(?:y|ies)|valid|needed|in force|holds?|counts?)|do(?:es)?(?:n['’]t| not) (?:apply|hold|count) (?:any ?more|any longer|now)|(?:rule|ban|freeze|limit|restriction) (?:is |has been )?(?:lifted|off|over|gone)|lifted|unfrozen|forget (?:the|that|my|what)|drop (?:the|that|my) rule|scrap (?:the|that|my)|take (?:it|that) back|never ?mind (?:the|my|what)|aufgehoben|(?:gilt|gelten) (?:jetzt |ab jetzt )?nicht mehr|hat sich erledigt|ist hinfällig|vergiss (?:die|das|was)|ya no (?:aplica|vale|rige|cuenta|hace falta)|queda sin efecto|olvida (?:la|lo|eso)|levant(?:o|amos|ada|ado)|n['’]est plus valable|ne (?:vaut|compte|s['’]applique|tient) plus)(?![\p{L}])|解除|撤回|取り消|もう(?:いい|大丈夫|必要ない)|取消|解禁|作废|失效|不用管了|不算了/iu
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

/** The rule that a permission may be about. */
export interface PermittedRule {
  readonly conditions: readonly Condition[]
  readonly rule: Pick<Rule, 'text'>
}

const STILL =
  /(?<![\p{L}])(?:still|not (?:yet )?(?:lifted|over|off)|weiterhin|noch nicht|gilt noch|todavía|aún|sigue|toujours|pas encore)(?![\p{L}])|まだ|还没|仍/iu
/** A letter of Chinese is less than a word. */
const weightOf = (word: string): number => (/^\p{Script=Han}$/u.test(word) ? 1 / 3 : 1)

/** Whether a sentence ends a rule by some of its words: "what I said about the containers no longer applies". */
function endsByWords(sentence: string, { rule }: PermittedRule): boolean {
  if (!LIFTS.test(sentence) || STILL.test(sentence)) return false
  const words = new Set(contentWords(rule.text))
  const shared = [...new Set(contentWords(sentence.replace(LIFTS, ' ')))].filter((word) => words.has(word))
  return shared.reduce((sum, word) => sum + weightOf(word), 0) >= 1
}

export type Permission = 'none' | 'turn' | 'for good'

/** The permission in a sentence of the user, for the conditions of a rule. */
function allowedBy(sentence: string, permitted: PermittedRule): Permission {
  const { conditions } = permitted
  if (hasCue(sentence, 'question')) return 'none'
  if (endsByWords(sentence, permitted)) return 'for good'
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
 * @param step the step of a call, if one is judged
 */
export function permissionIn(
  message: ReportMessage,
  before: ReportMessage | undefined,
  permitted: PermittedRule,
  step?: CallStep,
): Permission {
  const { conditions } = permitted
  if (!isByUser(message) || conditions.length === 0) return 'none'
  if (UNDO.test(message.ownText)) return 'turn'
  const sentences = spokenSentences(message.ownText)
  const permissions = new Set(sentences.map((sentence) => allowedBy(sentence, permitted)))
  const strongest = (['for good', 'turn'] as const).find((each) => permissions.has(each))
  if (strongest !== undefined) return strongest
  const isAssent = afterAssent(message.ownText.trim()) !== undefined && !isNegated(sentences[0] ?? '')
  if (!(isAssent || approves(message.ownText)) || before?.role !== 'assistant') return 'none'
  if (asks(before.ownText, conditions)) return 'turn'
  // The agent may ask in other words: "shall I empty uploads/tmp?" before it calls `rm`.
  if (!asksFirst(permitted.rule.text)) return 'none'
  const isAnswered = isAsked(before.ownText, conditions) || (step !== undefined && asksAbout(before.ownText, step))
  return isAnswered ? 'turn' : 'none'
}

const APPROVES =
  /(?<![\p{L}])(?:looks? (?:good|right|fine|ok(?:ay)?|great|correct)|lgtm|(?:go|go ahead|go for it|do it|ship it)(?=[.!]?$)|sieht (?:gut|richtig) aus|passt|(?:mach|los|leg los|mach (?:es|das|mal))(?=[.!]?$)|adelante|hazlo|dale|tiene buena pinta|se ve bien|vas-y|c['’]est bon)(?![\p{L}])|進めて|問題なさそう|大丈夫そう|それでいい|没问题|看起来(?:可以|不错|对)|(?:执行|做|来|开始|上)吧/giu
const MOST_APPROVAL = 80

/** Whether a short message approves what it answers, wherever it does: "looks right, go". */
const approves = (text: string): boolean => {
  const trimmed = text.trim()
  const rest = trimmed.replaceAll(APPROVES, ' ')
  return trimmed.length <= MOST_APPROVAL && rest !== trimmed && !isNegated(rest) && !hasCue(trimmed, 'question')
}

/** Whether a question names a command without its program: "shall I apply it?" of `terraform apply`. */
const namesCommand = (text: string, condition: Condition): boolean =>
  subjectOf(condition).targets.some(({ kind, text: command }) => {
    const words = command.split(' ').slice(1)
    return (
      kind === 'command' &&
      words.length > 0 &&
      words.every(
        (word) =>
          !word.startsWith('-') &&
          text
            .toLowerCase()
            .split(/[^\p{L}\p{N}]+/u)
            .includes(word),
      )
    )
  })

/** Whether a text asks to do what conditions forbid. */
const asks = (text: string, conditions: readonly Condition[]): boolean =>
  spokenSentences(text).some(
    (sentence) =>
      hasCue(sentence, 'question') &&
      !isNegated(sentence) &&
      conditions.some((condition) => isAbout(sentence, condition, true) || namesCommand(sentence, condition)),
  )

const LEAST_NAME = 4

/** Whether a text has a question and names something on which a step acts. */
function asksAbout(text: string, { names, files, command }: CallStep): boolean {
  if (!hasCue(text, 'question')) return false
  const lower = text.toLowerCase()
  const program = command?.[0]
  return [...names, ...files].some(
    (name) =>
      name.length >= LEAST_NAME &&
      name !== program &&
      !name.startsWith('-') &&
      (lower.includes(name.toLowerCase()) || lower.includes(name.toLowerCase().replace(/[/*]+$/u, ''))),
  )
}

/** Whether a text is about what conditions forbid. */
export const isAsked = (text: string, conditions: readonly Condition[]): boolean =>
  spokenSentences(text).some((sentence) => conditions.some((condition) => isAbout(sentence, condition, true)))
