/**
 * Finds the earlier statement that a later one corrects or takes back. It compares words, units and values, in the
 * languages of the cue words. If it is wrong, a view shows two statements as one that have less to do with each other, and
 * recall lacks the earlier one; if it finds nothing, both are shown in their order.
 */
import { clausesOf, isNegated } from '../../domain/text/cues.js'
import { numbersIn } from '../../domain/text/numbers.js'
import { readAnswerText } from '../../domain/text/question-answers.js'
import { statementOf as comparedForm } from '../../domain/text/statements.js'
import { spokenSentences } from '../../domain/text/speech.js'
import { newestSource, type ItemGroup } from '../../domain/conversation/working-state.js'

const words = (latin: string, cjk: string): RegExp =>
  new RegExp(`(?<![\\p{L}\\p{N}])(?:${latin})(?![\\p{L}\\p{N}])|${cjk}`, 'iu')

/** Words by which people take back or correct a statement. */
const CORRECTS = words(
  String.raw`actually|instead|no longer|not any ?more|never ?mind|forget (?:about|that|what|it|the|my)|scrap|changed? my mind|correction|corrected|not .{1,40} but|rather than|revert(?:ed)?|take (?:that |it )?back|took back|withdraw|cancel(?:led|ed)?|drop (?:that|the|it|my)|was wrong|i was mistaken|on second thought|after all|raise[ds]?|lower(?:ed)?|increase[ds]?|decrease[ds]?|reduce[ds]?|bump(?:ed)?|postpone[ds]?|replace[ds]?|switch(?:ed)? (?:it )?to|(?:the|my) old|doch|stattdessen|nicht mehr|gilt nicht|vergiss|vergessen sie|ab (?:jetzt|sofort|heute)|korrektur|geändert|erhöhe|erhöht|senke|streiche?|nehme? .{1,40} zurück|finalement|plutôt|en fait|oublie[zr]?|ne .{1,30} plus|désormais|à la place|annule[zr]?|corrig\p{L}*|en realidad|mejor|olvid[ae]|ya no|en (?:lugar|vez) de|súbelo|corrij\p{L}+|na verdade|esquece|invece|non più|dimentica|вообще-то|больше не|забудь|вместо`,
  'やっぱり|やはり|ではなく|じゃなくて|変更|訂正|忘れて|取り消|撤回|もう.{0,12}ない|代わりに|其实|其實|改成|改为|改為|不再|算了|忘掉|忘了|取消|更正|提高到|降低到|换成|換成|而不是|사실|대신|변경|취소|바꿔|정정',
)
/** Words that may announce a change, and stand in many other sentences. */
const MAY_CORRECT = words(
  String.raw`any ?more|from now on|as of (?:now|today)|updated?|new|now|wait|sorry|make (?:it|that)|change[ds]?|moved?|extend(?:ed)?|nun|jetzt|neue?[rnsm]?|ändere|anders|statt|zurück|nouve\p{L}+|maintenant|change[zr]?|augment\p{L}*|ahora|cambi\p{L}+|sube|subir|baja|nuev\p{L}+|agora|adesso|теперь|новы\p{L}+|измени\p{L}*`,
  '今後|これから|新しい|なしで|现在|現在|新的|이제|새로',
)
/** Words for a value that a correction names in place of the value itself. */
const VALUES = words(
  String.raw`figure|number|value|limit|cap|budget|amount|price|date|deadline|day|time|name|code|version|branch|commit|rule|bill|grenze|wert|zahl|betrag|frist|termin|limite|montant|chiffre|valor|límite|presupuesto|fecha|число|лимит|срок`,
  '上限|数字|予算|値|金額|期限|日付|限制|预算|預算|数值|금액|한도|예산|날짜',
)

const UNITS: readonly (readonly [string, RegExp])[] = [
  ['money', /[$€£¥₩₹]\s?\d|\d\s?(?:usd|eur|euros?|dollars?|jpy|gbp|円|元|원|万円|руб)/iu],
  ['percent', /\d\s?%|percent|prozent|pour ?cent|パーセント/iu],
  [
    'duration',
    /\d\s?(?:ms|s|sec(?:onds?)?|min(?:utes?)?|h|hours?|days?|weeks?|stunden?|tage?|時間|分|秒|日間|小时|分钟|天)(?![\p{L}])/iu,
  ],
  ['size', /\d\s?(?:[kmgt]i?b|bytes?|tokens?|トークン)(?![\p{L}])/iu],
  [
    'date',
    /\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]|\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|montag|dienstag|mittwoch|donnerstag|freitag|lundi|mardi|mercredi|jeudi|vendredi|lunes|martes|miércoles|jueves|viernes)\b|[月火水木金土日]曜|周[一二三四五六日]|星期|\d月/iu,
  ],
  ['clock', /\d{1,2}:\d{2}|\d\s?(?:am|pm|uhr|時(?!間)|点)(?![\p{L}])/iu],
  ['version', /\bv?\d+\.\d+(?:\.\d+)?\b/iu],
  ['hash', /\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{6,40}\b/iu],
  ['person', /\d\s?(?:people|persons?|guests?|personen|personnes|personas|人|名)/iu],
]

/** The parts of a statement that are compared. */
interface Features {
  readonly terms: ReadonlySet<string>
  readonly distinctive: ReadonlySet<string>
  readonly units: ReadonlySet<string>
  readonly numbers: ReadonlySet<string>
  /** The words of the clauses that deny something. */
  readonly negated: ReadonlySet<string>
}

/** A name: a capital within a sentence. */
const NAME_WITHIN = /(?<=[\p{L}\p{N},;:] )\p{Lu}[\p{L}\p{N}_./:@-]*[\p{L}\p{N}]/gu
const IDENTIFIER = /\p{N}|[_./]/u

/** A number is a value, and says nothing about the subject. */
const subjectTerms = (terms: Iterable<string>): string[] => [...terms].filter((term) => /\p{L}/u.test(term))

function featuresOf(statement: string): Features {
  // The words of a question are not the user's.
  const text = readAnswerText(statement)?.answer ?? statement
  const { terms, distinctive } = comparedForm(text)
  const names = new Set(Array.from(text.matchAll(NAME_WITHIN), ([name]) => name.toLowerCase()))
  return {
    terms: new Set(subjectTerms(terms)),
    // The first word of a sentence has a capital, and is no name.
    distinctive: new Set([...distinctive].filter((word) => IDENTIFIER.test(word) || names.has(word))),
    units: new Set(UNITS.flatMap(([unit, pattern]) => (pattern.test(text) ? [unit] : []))),
    numbers: new Set(numbersIn(text).map(({ value }) => value)),
    negated: isNegated(text)
      ? new Set(
          spokenSentences(text)
            // A sentence that begins with a small letter or a bracket is joined to the one before.
            .flatMap((sentence) => sentence.split(/(?<=[.!?])\s+/u).flatMap(clausesOf))
            .filter(isNegated)
            .flatMap((clause) => subjectTerms(comparedForm(clause).terms)),
        )
      : new Set(),
  }
}

const shared = (a: ReadonlySet<string>, b: ReadonlySet<string>): number => [...a].filter((each) => b.has(each)).length

const isEqual = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && shared(a, b) === a.size

/** A word that more statements share says less. */
class Rarity {
  readonly #counts = new Map<string, number>()

  constructor(private readonly statements: readonly Features[]) {
    for (const { terms } of statements)
      for (const term of terms) this.#counts.set(term, (this.#counts.get(term) ?? 0) + 1)
  }

  /** From 0 to 1. */
  of(term: string): number {
    const count = this.#counts.get(term) ?? 0
    return count <= Math.max(2, this.statements.length * 0.05) ? 1 : 1 / count
  }
}

/** How much two statements are about the same: shared words, and equal units of different values. */
function likeness(later: Features, earlier: Features, rarity: Rarity): number {
  const unit = [...later.units].some((each) => earlier.units.has(each)) ? 1.5 : 0
  const terms = [...later.terms].filter((term) => earlier.terms.has(term))
  return terms.reduce((sum, term) => sum + rarity.of(term), 0) + shared(later.distinctive, earlier.distinctive) + unit
}

/** So much has to be equal, by the words of the later statement. */
const LEAST_ALIKE = { corrects: 1, mayCorrect: 2, plain: 3 } as const
/** The share of the words of the shorter statement that both have, if they are about the same. */
const LEAST_SHARE = 0.4
const LEAST_SHARE_OF_VALUES = 0.25
/** A statement with more words names its subject. */
const MOST_WITHOUT_SUBJECT = 8
/** A statement with fewer words may share a single one. */
const SHORT = 4

const sharesUnit = (later: Features, earlier: Features): boolean => shared(later.units, earlier.units) > 0

/**
 * Whether two statements are about the same: by most of their words, or by values with the same unit. Of a long statement a
 * value says little about the subject: it shares a word in addition.
 */
function isAboutSame(later: Features, earlier: Features): boolean {
  const terms = shared(later.terms, earlier.terms)
  const shorter = Math.min(later.terms.size, earlier.terms.size)
  if (
    sharesUnit(later, earlier) &&
    (later.terms.size <= MOST_WITHOUT_SUBJECT || terms >= shorter * LEAST_SHARE_OF_VALUES)
  )
    return true
  return (terms > 1 || (terms === 1 && later.terms.size < SHORT)) && terms >= shorter * LEAST_SHARE
}

/** Whether one of two statements denies the other one: the clause that denies is about the same. */
function denies(later: Features, earlier: Features): boolean {
  if (later.negated.size > 0 === earlier.negated.size > 0) return false
  const [negated, terms] = later.negated.size > 0 ? [later.negated, earlier.terms] : [earlier.negated, later.terms]
  return shared(negated, terms) >= negated.size * LEAST_SHARE
}

/** Whether a statement has another value. Numbers without a unit are of other subjects: crane 2, table 7. */
const differs = (later: Features, earlier: Features): boolean =>
  sharesUnit(later, earlier) &&
  later.numbers.size > 0 &&
  earlier.numbers.size > 0 &&
  !isEqual(later.numbers, earlier.numbers)

/** Whether a statement with this cue corrects an earlier one. */
function isCorrection(later: Features, earlier: Features, cue: Cue, alike: number): boolean {
  if (alike < LEAST_ALIKE[cue] || !isAboutSame(later, earlier)) return false
  if (cue === 'corrects') return true
  // Two names that are shared say little about the subject.
  const isSameSubject = cue === 'mayCorrect' || shared(later.terms, earlier.terms) >= LEAST_ALIKE.plain
  // A task may use all words of a rule: "deploy the service to staging", "never deploy the service on Fridays".
  return isSameSubject && (differs(later, earlier) || (cue === 'mayCorrect' && denies(later, earlier)))
}

/** Only statements of this weight are worth a correction: rules, values, preferences, decisions, requests with a value. */
const LEAST_WEIGHT = 55

/** A longer statement has several subjects: each of its sentences is compared by itself. */
const MOST_OF_ONE_SUBJECT = 240

/** The words by which a text may correct an earlier one. */
type Cue = keyof typeof LEAST_ALIKE

const cueOf = (text: string): Cue =>
  CORRECTS.test(text) ? 'corrects' : MAY_CORRECT.test(text) ? 'mayCorrect' : 'plain'

/** A part of a statement about one subject. */
interface Part {
  readonly text: string
  readonly features: Features
}

/** A question without a value changes nothing: "Did the service deploy?" */
const onlyAsks = ({ text, features: { numbers } }: Part): boolean => /[?？]\s*$/u.test(text) && numbers.size === 0

interface Match {
  readonly group: ItemGroup
  readonly alike: number
}

/** Finds corrections, and keeps the compared parts of each text. */
export class Corrections {
  readonly #parts = new Map<string, readonly Part[]>()

  #partsOf(text: string): readonly Part[] {
    const known = this.#parts.get(text)
    if (known !== undefined) return known
    const texts = text.length <= MOST_OF_ONE_SUBJECT ? [text] : spokenSentences(text)
    const parts = texts.map((part) => ({ text: part, features: featuresOf(part) }))
    this.#parts.set(text, parts)
    return parts
  }

  /**
   * The group of statements that a later one corrects; undefined if it corrects none.
   * @param revision of the later statement: statements of the same message do not correct each other
   */
  correctedBy(text: string, groups: readonly ItemGroup[], revision = Infinity): ItemGroup | undefined {
    const lasting = groups.filter((group) =>
      group.some((item) => item.weight >= LEAST_WEIGHT && newestSource(item) < revision),
    )
    const featured = lasting.map((group) => ({
      group,
      features: group.flatMap((item) => this.#partsOf(item.text).map(({ features }) => features)),
    }))
    const rarity = new Rarity(featured.flatMap(({ features }) => features))
    const changing = this.#partsOf(text).filter((part) => !onlyAsks(part))
    const matches = changing.flatMap((part) => matchOf(part, featured, rarity) ?? [])
    const best = matches.toSorted((a, b) => b.alike - a.alike)[0]
    if (best !== undefined) return best.group
    // "Never mind the old figure" names no subject: the last value is meant.
    const isAboutValue = changing.some(
      ({ text: part, features: { terms } }) =>
        cueOf(part) === 'corrects' && VALUES.test(part) && terms.size <= MOST_WITHOUT_SUBJECT,
    )
    return isAboutValue ? lasting.findLast((group) => group.some((item) => /\d/u.test(item.text))) : undefined
  }
}

/** The group that a part of a statement corrects; of equal ones the last. */
function matchOf(
  { text, features: later }: Part,
  featured: readonly { readonly group: ItemGroup; readonly features: readonly Features[] }[],
  rarity: Rarity,
): Match | undefined {
  const cue = cueOf(text)
  let best: Match | undefined
  for (const { group, features } of featured) {
    const scores = features.flatMap((earlier) => {
      const alike = likeness(later, earlier, rarity)
      return isCorrection(later, earlier, cue, alike) ? [alike] : []
    })
    const alike = Math.max(...scores)
    if (scores.length > 0 && (best === undefined || alike >= best.alike)) best = { group, alike }
  }
  return best
}
