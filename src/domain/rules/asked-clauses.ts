/**
 * The clauses of a rule that are about what the user is asked before. "Ask me before you change X, and format with Y"
 * is about X only, and so is "Add a column to Y. Ask me before you change X."
 */
import type { Action } from './actions.js'
import type { Target } from './targets.js'

/** A clause, as far as it is compared here. */
export interface AskedClause {
  readonly text: string
  /** The number of its sentence in the rule. */
  readonly sentence: number
  readonly isForbidding: boolean
  readonly actions: readonly Action[]
  readonly targets: readonly Target[]
}

export const ASKS =
  /(?<![\p{L}])(?:ask(?:ing)?(?: me| us)?|check(?:ing)? with|confirm(?:ation|ed|ing|s)?|approv(?:al|e|ed|es)|sign(?:ed|s)?[- ]?off|permission|consent|okay from|ok from|my (?:ok|okay|go(?:-ahead)?)|go-ahead|(?:tell|told) (?:me first|you (?:to )?go)|run it (?:by|past) me|rückfrage|rücksprache|frag\p{L}*|zustimmung|freigabe|genehmig\p{L}*|erlaubnis|bestätig\p{L}*|absprache|abgesprochen|preg[uú]nt\p{L}+|permiso|cons[uú]lt\p{L}+|aprobaci\p{L}+|conf[ií]rm\p{L}+|visto bueno|av[ií]s\p{L}+|zugestimmt|einverstanden|i['’]ve seen|i have seen|(?:until|unless|before) i (?:say|tell|give|agree|ask)|bis ich (?:es |dir |euch )*(?:sag\p{L}*|freigeb\p{L}*)|hasta que (?:yo )?(?:te |os )?(?:lo )?(?:diga|avise|pida)|show (?:it|me|them)|nachfrag\p{L}*|nachzufragen|mein ok|consentimiento|demand\p{L}* d['’]abord|accord)(?![\p{L}])|確認(?:を|し|して)|許可|聞いて|相談|承認|了解を|勝手に|見せて|询问|征得|同意|批准|确认|问(?:一下)?我|问一下|(?:言う|指示する)まで|我(?:说|通知|同意)(?:可以|了)?(?:之前|再)|等我(?:说|通知|同意)/iu

/** The user is asked before the action, and not about something after it. */
export const ASKS_FIRST =
  /(?<![\p{L}])(?:before|first|prior|until|unless|(?:only )?after|only (?:when|if|with)|requires?|needs?|without|not? \p{L}+ (?:until|before)|vorher|bevor|vor|erst|zuerst|ohne|bis|nur (?:mit|nach)|braucht|benötigt|antes|primero|sin|hasta|requiere\p{L}*|necesita\p{L}*|solo (?:con|tras)|après|avant|sans|d['’]abord)(?![\p{L}])|前に|先に|まず|必要|勝手に|ないと|までは|先|须|需|之前|经|未/iu

/** The words after it name what is asked about. */
const OBJECT_FOLLOWS =
  /(?<![\p{L}])(?:before|prior to|until|without|bevor|vor|ohne|antes de|sin|avant de|sans)(?![\p{L}])|前に|之前|先问我再/iu
/** It adds an object to the clause before. */
const ALSO =
  /^\s*(?:also|even|including|or|nor|auch|oder|también|incluso|o|ni|aussi|ou)(?![\p{L}])|^\s*(?:也|或|または)/iu
/** It names the place of the next clause: "for src/a, ask me before you change anything". */
const PLACE =
  /^\s*(?:for|in|inside|on|at|with|bei|für|im|auf|an|para|en|con|pour|dans|sur)(?![\p{L}])|(?:では|については|の場合は?|には|は)$/iu
const DECIDES: ReadonlySet<Action> = new Set(['run', 'use', 'read'])

const hasObject = ({ targets, actions }: AskedClause): boolean =>
  targets.length > 0 || actions.some((action) => !DECIDES.has(action))

/** Whether a text says that the user is asked before something. */
export const asksFirst = (text: string): boolean => ASKS.test(text) && ASKS_FIRST.test(text)

function askedInSentence<C extends AskedClause>(sentence: readonly C[]): readonly C[] {
  const withObject = sentence.filter((clause) => OBJECT_FOLLOWS.test(clause.text) && hasObject(clause))
  if (withObject.length === 0) return sentence
  return sentence.filter(
    (clause, at) =>
      withObject.includes(clause) ||
      clause.isForbidding ||
      ALSO.test(clause.text) ||
      (PLACE.test(clause.text) && sentence[at + 1] !== undefined && clause.targets.length > 0),
  )
}

/** The clauses about what the user is asked before; none if the rule does not say so. */
export function askedClauses<C extends AskedClause>(clauses: readonly C[]): ReadonlySet<C> {
  const sentences = [...new Set(clauses.map(({ sentence }) => sentence))].map((number) =>
    clauses.filter(({ sentence }) => sentence === number),
  )
  return new Set(
    sentences.flatMap((sentence, at) => {
      if (!asksFirst(sentence.map(({ text }) => text).join(', '))) return []
      // "Deploys to the shop. Ask me first."
      return sentence.some(hasObject) ? askedInSentence(sentence) : [...(sentences[at - 1] ?? []), ...sentence]
    }),
  )
}
