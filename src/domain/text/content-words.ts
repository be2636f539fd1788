/**
 * The words of a text that carry its content, in the order of the text and in several languages. Unlike search terms,
 * they keep whole paths and every repetition.
 */
import { isFunctionWord, termCounts } from './terms.js'

/** Words of other languages without content: articles, pronouns, prepositions, auxiliaries, modal verbs, courtesies. */
const SMALL_WORDS: ReadonlySet<string> = new Set(
  `may must shall user users please keep kept done make need want never always cannot
  der die das den dem des ein eine einen einem einer eines ich du er sie es wir ihr mir mich dir dich uns euch ihn ihm ihnen mein dein
  sein ist sind war waren wird werden wurde wurden sei hat haben hatte habe muss müssen soll sollen sollte darf dürfen kann können mag
  und oder aber sondern auch noch schon bitte in im an am ab auf aus bei beim mit nach von vom zu zum zur für um über unter durch so da dann
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
  /[\p{L}\p{N}_.~:@-]*[/\\][\p{L}\p{N}_./\\~:@*-]*[\p{L}\p{N}_*]|\p{N}[\p{N}.,:]*\p{N}|\p{N}+|\p{Script=Han}|[\p{Script=Katakana}ー]+|[\p{Script=Hangul}]+|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー])[\p{L}\p{M}\p{N}_])+(?:[-.][\p{Ll}\p{N}_]+)*(?:['’]\p{L}+)?/gu

/** Letters that Chinese and Japanese use as small words. */
const SMALL_LETTERS = new Set('的了请請您你我勿别別只也都就把将將被是在有和与與或其所者等一用')
/** Chinese words of obligation and permission: whether a clause denies is judged apart. */
const SMALL_PAIRS = /不要|不能|不可|不得|不许|不許|不准|可以|应该|應該|必须|必須|需要|一定|务必|務必|可能/gu

const HANGUL = /^\p{Script=Hangul}/u
/** Korean endings follow the first letters of a word. */
const STEM_OF_HANGUL = 2

/** The words of a text that carry its content, in order: stems, numbers, whole paths. */
export function contentWords(text: string): readonly string[] {
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
