/** Terms and codes of texts: matches in several scripts, and unusual text. */
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { codedText, codeOf, codeValueAt, CODE_LENGTH } from '../../../src/domain/text/codes.js'
import { stemOf } from '../../../src/domain/text/stem.js'
import {
  codeCounts,
  isSingleLetter,
  MAX_DISTINCT_TERMS,
  queryTerms,
  storable,
  termCounts,
} from '../../../src/domain/text/terms.js'

const shares = (a: string, b: string): boolean => queryTerms(a).some((term) => queryTerms(b).includes(term))

describe('stems', () => {
  test.each([
    ['caresses', 'caress'],
    ['ponies', 'poni'],
    ['cats', 'cat'],
    ['agreed', 'agre'],
    ['plastered', 'plaster'],
    ['motoring', 'motor'],
    ['hopping', 'hop'],
    ['filing', 'file'],
    ['happy', 'happi'],
    ['relational', 'relat'],
    ['rationalization', 'ration'],
    ['hopefulness', 'hope'],
    ['adjustment', 'adjust'],
    ['adoption', 'adopt'],
    ['probate', 'probat'],
    ['rate', 'rate'],
    ['controlling', 'control'],
    ['yellow', 'yellow'],
  ])('%s has the stem %s', (word, stem) => {
    expect(stemOf(word)).toBe(stem)
  })

  test.each([
    ['went', 'go'],
    ['bought', 'buying'],
    ['children', 'kids'],
    ['written', 'writes'],
    ['mum', 'mother'],
  ])('%s is found by %s', (a, b) => {
    expect(shares(a, b)).toBe(true)
  })

  test('words that are names of things in the language are words', () => {
    expect(stemOf('constructor')).toBe('constructor')
    expect(queryTerms('__proto__ toString')).toEqual(['proto', 'tostr', 'string'])
  })
})

describe('terms', () => {
  test('function words are none, case and accents do not matter', () => {
    expect(queryTerms('What did the CAFÉ have?')).toEqual(['cafe'])
    expect(queryTerms('of the and to')).toEqual([])
  })

  test.each([
    ['上海的天气', '天气'],
    ['東京タワーに行った', 'タワー'],
    ['서울에서 만났다', '서울'],
    ['ฉันชอบกาแฟ', 'กาแฟ'],
    ['Ｆｕｌｌ ｗｉｄｔｈ', 'full'],
    ['проверка связи', 'СВЯЗИ'],
    ['हिन्दी में', 'हिन्दी'],
  ])('%s is found by %s', (text, query) => {
    expect(shares(text, query)).toBe(true)
  })

  test.each([
    ['parseConfigFile', 'config file'],
    ['parse_config_file', 'parseConfigFile'],
    ['PARSE_CONFIG_FILE', 'configFile'],
    ['class XMLHttpRequest', 'http request'],
    ['const utf8Decoder = 1', 'decoder'],
    ['ledger.searchIndex(query)', 'the index'],
    ['使用parseConfigFile函数', 'config'],
    ['die Straße', 'STRASSE'],
    ['GROẞE', 'grosse'],
    ['Diyarbakır', 'diyarbakir'],
    ['İSTANBUL', 'istanbul'],
    ['ISPARTA', 'ısparta'],
    ['قرأت الكتاب', 'كتاب'],
    ['كتاب', 'والكتاب'],
    ['بالمدينة', 'المدينة'],
    ['للكتاب', 'كتاب'],
    ['الكِتَاب', 'كتاب'],
    ['أحمد', 'احمد'],
  ])('%s is found by %s, and the other way round', (text, query) => {
    expect(shares(text, query)).toBe(true)
    expect(shares(query, text)).toBe(true)
  })

  test('a name is a term too, and an id or encoded bytes have no parts', () => {
    expect(queryTerms('parseConfigFile')).toEqual(['parseconfigfil', 'pars', 'config', 'file'])
    for (const id of ['dQw4w9WgXcQ', 'toolu01AbCd9xKlMn', 'a9XkQ2bVnR7cTmZq', 'aB'.repeat(30)])
      expect(queryTerms(id)).toHaveLength(1)
  })

  test('a word that looks as if it had an Arabic article finds itself', () => {
    for (const word of ['الله', 'التزام', 'ال', 'لله']) expect(shares(word, word)).toBe(true)
  })

  test('a name in any style of writing has the terms of its words', () => {
    const word = fc.stringMatching(/^[a-z]{3,8}$/).filter((letters) => queryTerms(letters).length === 1)
    const capital = (letters: string): string => `${letters.charAt(0).toUpperCase()}${letters.slice(1)}`
    fc.assert(
      fc.property(fc.array(word, { minLength: 2, maxLength: 5 }), (words) => {
        const [first = '', ...rest] = words
        const camel = `${first}${rest.map(capital).join('')}`
        for (const name of [camel, capital(camel), words.join('_'), words.join('-').toUpperCase()])
          expect(queryTerms(name)).toEqual(expect.arrayContaining(words.flatMap(queryTerms)))
      }),
    )
  })

  test('scripts without spaces give pairs and single letters, without function letters', () => {
    expect(queryTerms('我的猫')).toEqual(['的猫', '猫'].toReversed())
    expect(isSingleLetter('猫')).toBe(true)
    expect(isSingleLetter('的猫')).toBe(false)
    expect(isSingleLetter('x')).toBe(false)
  })

  test('counts occurrences, and stops at the most distinct terms', () => {
    expect(termCounts('cat, cats and a dog')).toEqual({
      counts: new Map([
        ['cat', 2],
        ['dog', 1],
      ]),
      length: 3,
    })
    const many = Array.from({ length: MAX_DISTINCT_TERMS + 50 }, (_, place) => `w${String(place)}`).join(' ')
    expect(termCounts(`${many} w1`).counts.size).toBe(MAX_DISTINCT_TERMS)
    expect(termCounts(`${many} w1`).counts.get('w1')).toBe(2)
  })

  test('are those that one expression for words finds, whatever stands beside what', () => {
    const scripts = String.raw`\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}ー`
    const words = new RegExp(String.raw`[${scripts}]+|[[\p{L}\p{N}\p{M}]--[${scripts}]]+`, 'gv')
    const expected = (text: string): string[] =>
      (text.match(words) ?? []).flatMap((run) => {
        if (!/[猫狗𠀀]/u.test(run)) return [stemOf(run)]
        const letters = Array.from(run)
        return letters.flatMap((letter, at) => (at === 0 ? [letter] : [letter, `${letters[at - 1] ?? ''}${letter}`]))
      })
    // Letters of two code units, lone surrogates, and characters that are not letters.
    const piece = fc.constantFrom('cats', 'x', '7', ' ', '.', '猫', '狗', '𠀀', '𐌰', '\ud840', '\udc00', '\u{1f600}')
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join('')),
        (text) => {
          expect(queryTerms(text)).toEqual([...new Set(expected(text))])
        },
      ),
    )
  })

  test('stay the same when what was learnt of words is forgotten, and within a text of more words than are kept', () => {
    const before = codedText(codeCounts('The cats of Zürich, 我的猫'))
    for (let text = 0; text < 40; text += 1)
      queryTerms(Array.from({ length: 9_000 }, (_, place) => `w${String(text * 9_000 + place)}`).join(' '))
    expect(codedText(codeCounts('The cats of Zürich, 我的猫'))).toEqual(before)
    expect(
      termCounts(
        `cats ${Array.from({ length: 30_000 }, (_, place) => `v${place.toString(36)}`).join(' ')} cat`,
      ).counts.get('cat'),
    ).toBe(2)
  })

  test('NUL and lone surrogates leave a text that Postgres takes', () => {
    expect(storable('a\0b\ud800c')).toBe('ab\ufffdc')
    expect(queryTerms('needle\0 \ud800hay')).toEqual(['needl', 'hai'])
  })

  test('no term of any text holds what would break a line of the index: blanks, controls, ASCII punctuation, lone surrogates', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        for (const term of queryTerms(text)) expect(term).toMatch(/^[^\s\p{Cc}\p{Cs}\x21-\x2f\x3a-\x40]+$/u)
      }),
    )
  })
})

describe('codes', () => {
  test('have one width and read back as the number that they stand for', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (a, b) => {
        expect(codeOf(a)).toMatch(/^[\w-]{5}$/)
        expect(codeOf(a) === codeOf(b)).toBe(
          codeValueAt(`${codeOf(a)} ${codeOf(b)}`, 0) === codeValueAt(`${codeOf(a)} ${codeOf(b)}`, CODE_LENGTH + 1),
        )
      }),
    )
  })

  test('spread: 20,000 terms share hardly any', () => {
    const codes = new Set(Array.from({ length: 20_000 }, (_, place) => codeOf(`term${String(place)}`)))
    expect(codes.size).toBeGreaterThan(19_990)
  })

  test('a text is its distinct codes, repeated ones first', () => {
    expect(codedText(codeCounts('dog cat cats'))).toEqual({
      terms: `${codeOf('cat')} ${codeOf('dog')}`,
      repeated: 1,
      length: 3,
    })
    expect(codedText(codeCounts(''))).toEqual({ terms: '', repeated: 0, length: 0 })
  })

  test('two terms with one code are one, repeated where either is', () => {
    const [code, other] = [codeValueAt(codeOf('cat'), 0), codeValueAt(codeOf('dog'), 0)]
    expect(codedText({ codes: [code, other, code], counts: [1, 1, 1], length: 3 })).toEqual({
      terms: `${codeOf('cat')} ${codeOf('dog')}`,
      repeated: 0,
      length: 3,
    })
    expect(codedText({ codes: [other, code, code], counts: [1, 1, 2], length: 4 })).toEqual({
      terms: `${codeOf('cat')} ${codeOf('dog')}`,
      repeated: 1,
      length: 4,
    })
  })
})
