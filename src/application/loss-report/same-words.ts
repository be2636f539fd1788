/**
 * Whether a text says what a sentence says, by its words alone: a changed name, a smaller exception, a word that was
 * added in the middle or two names that changed places make another sentence of it. A paraphrase is never "the same":
 * words cannot prove it.
 */
import { isDenied, isNegated } from '../../domain/text/cues.js'
import { isFunctionWord, termCounts } from '../../domain/text/terms.js'

/** Words of other languages without content: articles, pronouns, prepositions, auxiliaries, modal verbs, courtesies. */
const SMALL_WORDS: ReadonlySet<string> = new Set(
  `may must shall user users please keep kept done make need want
  der die das den dem des ein eine einen einem einer eines ich du er sie es wir ihr mir mich dir dich uns euch ihn ihm ihnen mein dein
  sein ist sind war waren wird werden wurde wurden sei hat haben hatte habe muss müssen soll sollen sollte darf dürfen kann können mag
  und oder aber sondern auch noch schon bitte in im an am auf aus bei beim mit nach von vom zu zum zur für um über unter durch so da dann
  weil damit dass wenn ob als wie man lass lasst nicht nie niemals kein keine keinen keinem keiner immer nur sich dies diese dieser dieses
  nutzer benutzer nutzers
  el la los las un una unos unas yo tu tú usted él ella ellos nos me te se le les lo al del de en a con por para y o u e pero sino que
  ya ser es son está están estar fue hay debe deben debes puede pueden puedes hace ha han haber no nunca siempre solo sólo favor su sus
  mi mis este esta estos estas eso esa ese como cuando si usuario
  le la les un une des du de d l et ou mais à au aux en dans sur pour par avec ne pas jamais toujours il elle ils je tu vous nous on se
  est sont être doit doivent ce cette ces que qui si utilisateur
  주세요 주십시오 줘 해줘 달라 달라는 요청
  il lo gli uno i di da su per con non mai sempre che è sono deve devono
  и или но а в на с к по из для не ни он она они я мы вы это как что чтобы`
    .trim()
    .split(/\s+/u),
)

/** Pieces that count as one: an address or a path, a number with its marks, a word, a letter of a script without spaces. */
const PIECES =
  /[\p{L}\p{N}_.~:@-]*[/\\][\p{L}\p{N}_./\\~:@*-]*[\p{L}\p{N}_*]|\p{N}[\p{N}.,:]*\p{N}|\p{N}+|\p{Script=Han}|[\p{Script=Katakana}ー]+|[\p{Script=Hangul}]+|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー])[\p{L}\p{M}\p{N}_])+(?:['’]\p{L}+)?/gu

/** Letters that Chinese and Japanese use as small words. */
const SMALL_LETTERS = new Set('的了请請您你我勿别別只也都就把将將被是在有和与與或其所者等一用')
/** Chinese words of obligation and permission: whether a clause denies is judged apart. */
const SMALL_PAIRS = /不要|不能|不可|不得|不许|不許|不准|可以|应该|應該|必须|必須|需要|一定|务必|務必|可能/gu

const HANGUL = /^\p{Script=Hangul}/u
/** Korean endings follow the first letters of a word. */
const STEM_OF_HANGUL = 2

/** The pieces of a text that carry its content, in order. */
function contentOf(text: string): readonly string[] {
  return Array.from(
    text.normalize('NFKC').toLowerCase().replaceAll(SMALL_PAIRS, ' ').matchAll(PIECES),
    ([piece]) => piece,
  )
    .filter(
      (piece) => !SMALL_WORDS.has(piece) && !SMALL_LETTERS.has(piece) && !isFunctionWord(piece.replace(/['’].*$/u, '')),
    )
    .map((piece) =>
      HANGUL.test(piece) ? piece.slice(0, STEM_OF_HANGUL) : /^[\p{L}\p{M}'’]+$/u.test(piece) ? stemmed(piece) : piece,
    )
}

/** The stem of a word, as search finds it. */
const stemmed = (word: string): string => [...termCounts(word).counts.keys()][0] ?? word

const CLAUSE =
  /[,;:，；：、—]\s|(?<=[，；]|,(?=[\p{Script=Han}\p{Script=Hiragana}]))|\s(?:but|aber|sondern|pero|sino|mais|но)\s|但是?/u

/** The clauses of a sentence or of some passages that have content. */
const clausesOf = (text: string): readonly { readonly text: string; readonly content: readonly string[] }[] =>
  text
    .split(CLAUSE)
    .map((clause) => ({ text: clause, content: contentOf(clause) }))
    .filter(({ content }) => content.length > 0)

/** Words that set the side of a limit. */
const MOST =
  /(?<![\p{L}])(?:at most|no more than|not more than|maximum|max|up to|cap|capped|limit(?:ed)?|höchstens|maximal|como máximo|au plus)(?![\p{L}])|最大|最多|最長|最长|至多|以内|以下|不超过/iu
const LEAST =
  /(?<![\p{L}])(?:at least|no less than|no fewer than|minimum|min|mindestens|minimal|al menos|como mínimo|au moins)(?![\p{L}])|最低|最小|最少|最短|至少|以上|不少于/iu
const BEFORE = /(?<![\p{L}])(?:before|until|vor|bevor|bis|antes|avant)(?![\p{L}])|前|まで/iu
const AFTER = /(?<![\p{L}])(?:after|from|nach|nachdem|ab|después|après)(?![\p{L}])|後|后|以降/iu

const PERMITTED =
  /(?<![\p{L}])(?:may|allowed|can|darf|dürfen|erlaubt|puede[ns]?|permitid[oa]s?|peut|peuvent)(?![\p{L}])/iu
/** Japanese, Chinese and Korean: the form itself is positive. */
const PERMITTED_BY_FORM = /て(?:も)?(?:よい|良い|いい|構わ)|可以|해도 ?(?:됩|된|돼|좋)/u

/** Whether a text permits what the clause forbids. */
const permits = (clause: string, text: string): boolean =>
  isNegated(clause) &&
  ((PERMITTED.test(text) && !PERMITTED.test(clause) && !isDenied(text)) ||
    (PERMITTED_BY_FORM.test(text) && !PERMITTED_BY_FORM.test(clause)))

const sameSide = (sentence: string, text: string): boolean =>
  [
    [MOST, LEAST],
    [BEFORE, AFTER],
  ].every(
    ([one, other]) =>
      one === undefined ||
      other === undefined ||
      !(
        (one.test(sentence) && !one.test(text) && other.test(text)) ||
        (other.test(sentence) && !other.test(text) && one.test(text))
      ),
  )

/** How many pieces of the text stand between the first and the last that the wanted ones cover, and are not wanted. */
function addedWithin(wanted: readonly string[], content: readonly string[]): number {
  const set = new Set(wanted)
  const first = content.findIndex((piece) => set.has(piece))
  const last = content.findLastIndex((piece) => set.has(piece))
  return content.slice(first, last + 1).filter((piece) => !set.has(piece)).length
}

const hasAll = (wanted: readonly string[], content: readonly string[]): boolean => {
  const set = new Set(content)
  return wanted.every((piece) => set.has(piece))
}

/** Whether one clause, or the whole text for a sentence of one clause, says a clause. */
function isSaid(
  clause: { readonly text: string; readonly content: readonly string[] },
  text: string,
  isOnly: boolean,
): boolean {
  const candidates = [...clausesOf(text), ...(isOnly ? [{ text, content: contentOf(text) }] : [])]
  return candidates.some(
    (candidate) =>
      hasAll(clause.content, candidate.content) &&
      addedWithin(clause.content, candidate.content) === 0 &&
      isNegated(clause.text) === isNegated(candidate.text) &&
      isDenied(clause.text) === isDenied(candidate.text) &&
      !permits(clause.text, candidate.text) &&
      sameSide(clause.text, candidate.text),
  )
}

/** Whether one of the passages says each clause of the sentence, in its words. */
export function isSaidBy(sentence: string, passages: readonly { readonly text: string }[]): boolean {
  const clauses = clausesOf(sentence)
  return clauses.every((clause) => passages.some(({ text }) => isSaid(clause, text, clauses.length === 1)))
}
