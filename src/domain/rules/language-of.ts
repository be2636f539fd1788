/** The language of an answer, by its script and its small words. */
import type { Language } from './read-rule.js'

const SMALL: readonly (readonly [Language, ReadonlySet<string>])[] = [
  ['english', new Set('the and is of to in that it was for with this have not are be you on as'.split(' '))],
  ['german', new Set('der die das und ist nicht ich zu den mit ein eine es von auf wird auch dem sind für'.split(' '))],
  ['spanish', new Set('el la los las de que y en un una es por con no se para del al lo está'.split(' '))],
  ['french', new Set('le la les des et est un une que dans pour pas sur qui du ce il au avec sont'.split(' '))],
]
const SCRIPTS: readonly (readonly [Language, RegExp])[] = [
  ['japanese', /[\p{Script=Hiragana}\p{Script=Katakana}]/gu],
  ['korean', /\p{Script=Hangul}/gu],
  ['russian', /\p{Script=Cyrillic}/gu],
  ['chinese', /\p{Script=Han}/gu],
]
/** A shorter text, or one with fewer small words, may be in any language. */
const LEAST_LETTERS = 80
const LEAST_SMALL = 5
const SHARE_OF_SCRIPT = 0.2

/** The language of a text; undefined if that is not certain. */
export function languageOf(text: string): Language | undefined {
  const prose = text.replaceAll(/```[^]*?```|`[^`\n]*`|https?:\/\/\S+/gu, ' ')
  const letters = prose.match(/\p{L}/gu)?.length ?? 0
  if (letters < LEAST_LETTERS) return undefined
  for (const [language, script] of SCRIPTS)
    if ((prose.match(script)?.length ?? 0) / letters >= SHARE_OF_SCRIPT) return language
  const words = prose.toLowerCase().match(/\p{L}+/gu) ?? []
  const counts = SMALL.map(([language, small]) => ({ language, count: words.filter((word) => small.has(word)).length }))
  const [first, second] = counts.toSorted((a, b) => b.count - a.count)
  return first !== undefined && first.count >= LEAST_SMALL && first.count >= 2 * (second?.count ?? 0)
    ? first.language
    : undefined
}
