/**
 * Whether a text says the same as a sentence, by its words alone: a changed name, a smaller exception, a word that was
 * added in the middle or two names that changed places make another sentence of it. A paraphrase is never "the same":
 * words cannot prove it.
 */
import { isDenied, isNegated } from '../../domain/text/cues.js'
import { contentWords } from '../../domain/text/content-words.js'
import { isPermission, isPermitted } from '../../domain/text/permissions.js'

const CLAUSE =
  /[,;:，；：、—.!?]\s|(?<=[，；、。！？]|：(?!\p{N})|,(?=[\p{Script=Han}\p{Script=Hiragana}]))|\s(?:but|aber|sondern|pero|sino|mais|но)\s|但是?/u

/** The revisions after a line of a note: `(r3, r12)`. */
const REVISIONS = /\((?:later )?r\d[^()\n]{0,60}\)/gu

/** The clauses of a sentence or of some passages that have content. */
const contentClauses = (text: string): readonly { readonly text: string; readonly content: readonly string[] }[] =>
  text
    .replaceAll(REVISIONS, ' ')
    .split(CLAUSE)
    .map((clause) => ({ text: clause, content: contentWords(clause) }))
    .filter(({ content }) => content.length > 0)

/** Words that set the side of a limit. */
const MOST =
  /(?<![\p{L}])(?:at most|no more than|not more than|maximum|max|up to|cap|capped|limit(?:ed)?|höchstens|maximal|como máximo|au plus)(?![\p{L}])|最大|最多|最長|最长|至多|以内|以下|不超过/iu
const LEAST =
  /(?<![\p{L}])(?:at least|no less than|no fewer than|minimum|min|mindestens|minimal|al menos|como mínimo|au moins)(?![\p{L}])|最低|最小|最少|最短|至少|以上|不少于/iu
const BEFORE = /(?<![\p{L}])(?:before|until|vor|bevor|bis|antes|avant)(?![\p{L}])|前|まで/iu
const AFTER = /(?<![\p{L}])(?:after|from|nach|nachdem|ab|después|après)(?![\p{L}])|後|后|以降/iu

const BOTH = /(?<![\p{L}])(?:both|beide[nrs]?|ambos|ambas|les deux)(?![\p{L}])|両方|双方/iu
const EITHER =
  /(?<![\p{L}])(?:either|eine[rmn]? von|uno de|una de|l['’]un)(?![\p{L}])|どちらか|いずれか|任一|其中之一/iu
const UP = /(?<![\p{L}])(?:up|upwards?|aufwärts|arriba)(?![\p{L}])|aufrund|切り上げ|向上|上取/iu
const DOWN = /(?<![\p{L}])(?:down|downwards?|abwärts|abajo)(?![\p{L}])|abrund|切り捨て|向下|下取/iu
const ON = /(?<![\p{L}])(?:on|enabled?|eingeschaltet|activad[oa]s?|activé)(?![\p{L}])|有効|オン|开启|開啟/iu
const OFF = /(?<![\p{L}])(?:off|disabled?|ausgeschaltet|desactivad[oa]s?|désactivé)(?![\p{L}])|無効|オフ|关闭|關閉/iu

/** Verbs of possibility. A demand with one of them is weaker. */
const MAY =
  /(?<![\p{L}])(?:may|might|can|could|kann|kannst|können|könnte[nt]?|darf|darfst|dürfen|pued[eo][ns]?|podemos|podr[ií]a[ns]?|peut|peux|peuvent)(?![\p{L}])|可以|可能|て(?:も)?(?:よい|良い|いい)|해도 ?(?:됩|된|돼|좋)/iu
/** Whether a text permits what the clause forbids, or only permits what it demands. */
const permits = (clause: string, text: string): boolean =>
  isNegated(clause)
    ? !isPermission(clause) && isPermitted(text)
    : !MAY.test(clause) && MAY.test(text.split(REASON)[0] ?? text) && !isDenied(text)

/** Words of quantity: a text with others says something else. */
const QUANTITIES: readonly RegExp[] = [
  /(?<![\p{L}])(?:only|just|nur|ausschließlich|solo|sólo|solamente|seulement|uniquement)(?![\p{L}])|だけ|のみ|只|仅/iu,
  /(?<![\p{L}])(?:some|few|(?<!at )most|mainly|mostly|einige|manche|meiste|algun[oa]s|mayoría)(?![\p{L}])|一部|主要|有些|部分/iu,
  /(?<![\p{L}])(?:more than|over|above|mehr als|über|más de)(?![\p{L}])|超|以上/iu,
  /(?<![\p{L}])(?:including|inclusive|einschließlich|inklusive|incluid[oa]s?|incluyendo|incluso|y compris)(?![\p{L}])|含めて|を含む|包括/iu,
  /(?<![\p{L}])(?:no longer|not any ?more|nicht mehr|ya no)(?![\p{L}])|もはや|不再/iu,
]
const sameQuantity = (sentence: string, text: string): boolean =>
  QUANTITIES.every((words) => words.test(sentence) === words.test(text)) &&
  /[?？]/u.test(sentence) === /[?？]/u.test(text)

/** After one of these, a text says why. */
const REASON =
  /(?<![\p{L}])(?:because|since|as|for|so|weil|da|denn|damit|porque|ya que|car|parce que)(?![\p{L}])|ので|ため|から|因为|因為/iu

/** Whether a clause goes on after the words of the sentence, and not with a reason. */
function goesOn(
  wanted: readonly string[],
  candidate: { readonly text: string; readonly content: readonly string[] },
): boolean {
  const set = new Set(wanted)
  const last = candidate.content.findLastIndex((piece) => set.has(piece))
  return last < candidate.content.length - 1 && !REASON.test(candidate.text)
}

const sameSide = (sentence: string, text: string): boolean =>
  [
    [MOST, LEAST],
    [BEFORE, AFTER],
    [BOTH, EITHER],
    [UP, DOWN],
    [ON, OFF],
  ].every(
    ([one, other]) =>
      one === undefined ||
      other === undefined ||
      !(
        (one.test(sentence) && !one.test(text) && other.test(text)) ||
        (other.test(sentence) && !other.test(text) && one.test(text))
      ),
  )

const EXCEPTION =
  /(?<![\p{L}])(?:unless|except|other than|apart from|but not|until|only if|only when|if not|außer|es sei denn|bis auf|solange|salvo|excepto|a menos que|hasta que|sauf|à moins)(?![\p{L}])|除非|除了|以外|ただし|場合を除|限り|제외/iu

/** Whether a text adds an exception or a condition to a sentence. */
const addsException = (sentence: string, text: string): boolean => EXCEPTION.test(text) && !EXCEPTION.test(sentence)

/** Whether two texts have the same words of quantity, and both or neither has an exception. */
export const hasSameLimits = (a: string, b: string): boolean =>
  sameQuantity(a, b) && EXCEPTION.test(a) === EXCEPTION.test(b)

/** Whether words after a sentence, in the same clause, say more than a reason. */
function saysMore(rest: string): boolean {
  const [first = ''] = rest.split(CLAUSE)
  return /^\s+\p{L}/u.test(first) && contentWords(first).length > 0 && !REASON.test(first)
}

/**
 * Whether a text that has the letters of a sentence goes on to say something else: the last name is longer, or an exception
 * follows.
 */
export function continuesOtherwise(sentence: string, text: string): boolean {
  const words = sentence.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  const end = /[\p{Script=Latin}\p{Script=Cyrillic}\p{N}]$/u.test(words.at(-1) ?? '')
    ? '(?![\\p{L}\\p{N}_]|[-.][\\p{L}\\p{N}])'
    : ''
  const pattern = new RegExp(`${words.join('[^\\p{L}\\p{N}]*')}${end}(?<rest>[^.!?。！？\\n]*)(?<end>[?？]?)`, 'iu')
  const found = pattern.exec(text)
  if (found === null || found.groups?.['end'] !== '') return true
  const rest = found.groups['rest'] ?? ''
  return addsException(sentence, rest) || !sameQuantity('', rest) || saysMore(rest)
}

/** How many pieces of the text stand between the first and the last that the wanted ones cover, and are not wanted. */
function addedWithin(wanted: readonly string[], content: readonly string[]): number {
  const set = new Set(wanted)
  const first = content.findIndex((piece) => set.has(piece))
  const last = content.findLastIndex((piece) => set.has(piece))
  return content.slice(first, last + 1).filter((piece) => !set.has(piece)).length
}

/** Whether a text has all pieces in their order: two names that change places say something else. */
function hasInOrder(wanted: readonly string[], content: readonly string[]): boolean {
  let next = 0
  for (const piece of content) if (piece === wanted[next]) next += 1
  return next === wanted.length
}

/** Whether the words that two texts share are in the same order in both. */
export function hasSameOrder(a: string, b: string): boolean {
  const [ofA, ofB] = [a, b].map((text) => [...new Set(contentWords(text))])
  const shared = new Set(ofB?.filter((word) => ofA?.includes(word)))
  return hasInOrder([...shared], ofA ?? [])
}

/** Whether one clause, or the whole text for a sentence of one clause, says a clause. */
function isSaid(
  clause: { readonly text: string; readonly content: readonly string[] },
  text: string,
  { isOnly, isStrict }: { readonly isOnly: boolean; readonly isStrict: boolean },
): boolean {
  const candidates = [...contentClauses(text), ...(isOnly ? [{ text, content: contentWords(text) }] : [])]
  return candidates.some(
    (candidate) =>
      hasInOrder(clause.content, candidate.content) &&
      addedWithin(clause.content, candidate.content) === 0 &&
      isNegated(clause.text) === isNegated(candidate.text) &&
      isDenied(clause.text) === isDenied(candidate.text) &&
      !permits(clause.text, candidate.text) &&
      sameSide(clause.text, candidate.text) &&
      sameQuantity(clause.text, candidate.text) &&
      !(isStrict && goesOn(clause.content, candidate)) &&
      !addsException(clause.text, candidate.text),
  )
}

/**
 * Whether one of the passages says each clause of the sentence, in its words.
 * @param isStrict of a rule: additions to a clause make another rule of it
 */
export function isSaidBy(sentence: string, passages: readonly { readonly text: string }[], isStrict: boolean): boolean {
  const clauses = contentClauses(sentence)
  const how = { isOnly: clauses.length === 1, isStrict }
  return clauses.every((clause) => passages.some(({ text }) => isSaid(clause, text, how)))
}
