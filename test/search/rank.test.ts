/** The ranking of messages, and of batches among them. */
import { describe, expect, test } from '@jest/globals'
import { authorOf } from '../../src/domain/text/author.js'
import type { Corpus } from '../../src/ports/archive-index.js'
import { placeBatches, rankBatches, type BatchInCorpus } from '../../src/application/search/place-batches.js'
import { namesIn, rank, weightedTerms } from '../../src/application/search/rank.js'
import { queryTerms, termCounts } from '../../src/domain/text/terms.js'

interface TestMessage {
  readonly role?: string
  readonly name?: string
  readonly text: string
  readonly time?: string
}

function corpusOf(messages: readonly TestMessage[]): Corpus {
  const counted = messages.map(({ text }) => termCounts(text))
  const authors = messages.map(({ role = 'user', name }) => authorOf(role, name))
  const lengths = counted.map(({ length }) => length)
  return {
    size: messages.length,
    authors,
    distinctAuthors: [...new Set(authors)],
    times: messages.map(({ time = '2026-01-01T00:00:00.000Z' }) => Date.parse(time)),
    lengths,
    meanLength: lengths.reduce((all, length) => all + length, 0) / Math.max(lengths.length, 1),
    replies: authors.map((author, at) => (at > 0 && author !== authors[at - 1] ? 1 : 0)),
    postings: (term) => counted.flatMap(({ counts }, at) => (counts.has(term) ? [at, counts.get(term) ?? 0] : [])),
  }
}

const orderOf = (query: string, messages: readonly TestMessage[], most?: number): readonly number[] =>
  rank(query, queryTerms(query), corpusOf(messages), most === undefined ? {} : { most }).order

const filler: readonly TestMessage[] = Array.from({ length: 20 }, (_, place) => ({
  text: `talk number${String(place)} about weather`,
}))

describe('rank', () => {
  test('nothing matches nothing', () => {
    expect(orderOf('zebra', filler)).toEqual([])
    expect(orderOf('zebra', [])).toEqual([])
  })

  test('a rare word beats a common one, and a short text a long one', () => {
    expect(orderOf('weather zebra', [...filler, { text: 'a zebra' }])[0]).toBe(20)
    expect(
      orderOf('zebra', [
        ...filler,
        { text: `zebra ${'and other animals of the plain '.repeat(20)}` },
        { text: 'one zebra' },
      ]),
    ).toEqual([21, 20])
  })

  test('an answer is found by its question, where the author changes', () => {
    const answered: readonly TestMessage[] = [
      ...filler,
      { role: 'user', text: 'Where is the telescope?' },
      { role: 'assistant', text: 'In the attic.' },
    ]
    expect(orderOf('telescope', answered)).toEqual([20, 21])
    const notes: readonly TestMessage[] = [...filler, { text: 'Bought a telescope.' }, { text: 'Cleaned the attic.' }]
    expect(orderOf('telescope', notes)).toEqual([20])
  })

  test('context of context is not found', () => {
    const chat = ['Any news?', 'The telescope broke.', 'Oh no!', 'We mend it.', 'Good luck.'].map(
      (text, place): TestMessage => ({ role: place % 2 === 0 ? 'user' : 'assistant', text }),
    )
    expect(new Set(orderOf('telescope', chat))).toEqual(new Set([0, 1, 2, 3]))
  })

  test('talk stays with its subject for some turns', () => {
    const chat = [
      ...Array.from({ length: 9 }, () => 'Rain again.'),
      'The telescope broke.',
      ...Array(9).fill('A lens.'),
    ].map((text, place): TestMessage => ({ role: place % 2 === 0 ? 'user' : 'assistant', text: String(text) }))
    const { scores } = rank('telescope', queryTerms('telescope'), corpusOf(chat))
    const scoresAfter = Array.from(scores).slice(9, 16)
    expect(scoresAfter.every((score, at) => at === 0 || score < (scoresAfter[at - 1] ?? 0) || score === 0)).toBe(true)
    const { order } = rank('telescope lens', queryTerms('telescope lens'), corpusOf(chat))
    expect(order.indexOf(15)).toBeLessThan(order.indexOf(17))
  })

  test('a long message says itself what it is about', () => {
    const answered = (answer: string): readonly TestMessage[] => [
      ...filler,
      { role: 'user', text: 'Where is the telescope?' },
      { role: 'assistant', text: answer },
    ]
    const scoreOf = (answer: string): number =>
      rank('telescope', queryTerms('telescope'), corpusOf(answered(answer))).scores[21] ?? 0
    expect(scoreOf('attic '.repeat(400))).toBeLessThan(scoreOf('attic '.repeat(40)) / 2)
  })

  test('one thing is found by its other names, for less than by its own', () => {
    const messages: readonly TestMessage[] = [
      ...filler,
      { text: 'We watched television' },
      { text: 'We watched the tv' },
    ]
    expect(orderOf('tv', messages)).toEqual([21, 20])
    expect(orderOf('television', messages)).toEqual([20, 21])
    expect(orderOf('pet', [...filler, { text: 'My parrot sings' }])).toEqual([20])
    expect(orderOf('parrot', [...filler, { text: 'No pet is allowed' }])).toEqual([])
  })

  test('where the postings hold not all messages, a word stands for itself alone', () => {
    const corpus = corpusOf([...filler, { text: 'We watched television' }])
    expect(rank('tv', ['tv'], corpus).order).toEqual([20])
    expect(rank('tv', ['tv'], { ...corpus, frequency: () => 1, total: 1_000 }).order).toEqual([])
  })

  test('a name of a speaker is no word with others like it', () => {
    expect(orderOf('Tv', [...filler, { role: 'user', name: 'Tv', text: 'Hi.' }, { text: 'Television!' }])).toEqual([])
  })

  test('a message with a word of the query stands before a neighbour without one, whoever said them', () => {
    const talk: readonly TestMessage[] = [
      ...filler,
      { role: 'user', text: 'Somebody planted tulips.' },
      { role: 'assistant', text: 'The zebra escaped.' },
      { role: 'user', text: 'Good.' },
    ]
    expect(orderOf('zebra', talk)[0]).toBe(21)
  })

  test('what a user says counts more than what a model says, and people among each other count alike', () => {
    const talk = (name?: string): readonly TestMessage[] => [
      { role: 'assistant', text: 'The zebra escaped.', ...(name === undefined ? {} : { name }) },
      { role: 'assistant', text: 'Filler.', ...(name === undefined ? {} : { name }) },
      { role: 'user', text: 'Nothing.', ...(name === undefined ? {} : { name: 'Ada' }) },
      { role: 'user', text: 'The zebra escaped.', ...(name === undefined ? {} : { name: 'Ada' }) },
    ]
    expect(orderOf('zebra', talk())[0]).toBe(3)
    expect(orderOf('zebra', talk('Bo'))[0]).toBe(0)
  })

  test('a name means what its bearer said', () => {
    const chat: readonly TestMessage[] = [
      { role: 'user', name: 'Ada', text: 'Hi Bo, I paint ships.' },
      { role: 'assistant', name: 'Bo', text: 'Nice, Ada! I paint trees.' },
    ]
    expect(orderOf('What does Bo paint?', chat)[0]).toBe(1)
    expect(orderOf('What does Ada paint?', chat)[0]).toBe(0)
    expect(orderOf('Ada', chat).length).toBeGreaterThan(0)
  })

  test('a month or year means messages of that time', () => {
    const trips: readonly TestMessage[] = [
      { text: 'We hiked up the hill', time: '2026-03-04T00:00:00.000Z' },
      { text: 'We hiked up the hill', time: '2025-07-04T00:00:00.000Z' },
    ]
    expect(orderOf('hike in July', trips)[0]).toBe(1)
    expect(orderOf('hike in 2026', trips)[0]).toBe(0)
    expect(orderOf('hike', trips)).toEqual([0, 1])
  })

  test('a day means messages of that day', () => {
    const trips: readonly TestMessage[] = [
      { text: 'We hiked up the hill', time: '2026-05-06T10:00:00.000Z' },
      { text: 'We hiked up the hill', time: '2026-05-07T10:00:00.000Z' },
    ]
    expect(orderOf('hike on 7 May', trips)[0]).toBe(1)
    expect(orderOf('hike in May', trips)[0]).toBe(0)
  })

  test('`most` orders the same places as the whole order begins with', () => {
    const many = Array.from({ length: 500 }, (_, place): TestMessage => ({
      text: `zebra ${'plain '.repeat((place * 7) % 31)}`,
    }))
    expect(orderOf('zebra', many, 10)).toEqual(orderOf('zebra', many).slice(0, 10))
  })
})

function batch(text: string, from: number, to: number): BatchInCorpus {
  const { counts, length } = termCounts(text)
  return { length, from, to, count: (term) => counts.get(term) ?? 0 }
}

describe('batches among messages', () => {
  const messages: readonly TestMessage[] = [...filler, { text: 'The zebra escaped' }, { text: 'It ate the roses' }]
  const corpus = corpusOf(messages)
  const placed = (query: string, batches: readonly BatchInCorpus[]): readonly string[] => {
    const terms = queryTerms(query)
    const entries = placeBatches(rank(query, terms, corpus), weightedTerms(terms, namesIn(corpus)), batches, corpus)
    return entries.map(({ kind, at }) => `${kind} ${String(at)}`)
  }

  test('one that repeats its messages stands behind all messages', () => {
    const withBatch = placed('zebra roses', [batch('A zebra escaped and ate roses.', 20, 22)])
    expect(withBatch).toEqual([...placed('zebra roses', []), 'batch 0'])
    expect(withBatch).toHaveLength(3)
  })

  test('one that says what no message of it says stands by that', () => {
    expect(placed('animal weather', [batch('An animal did damage in the garden.', 20, 22)])[0]).toBe('batch 0')
    expect(placed('animal', [batch('An animal did damage.', 20, 22)])).toEqual(['batch 0'])
  })

  test('who spoke and when is nothing that a batch says itself', () => {
    const chat: readonly TestMessage[] = [
      { role: 'user', name: 'Ada', text: 'I paint the sea' },
      { role: 'assistant', name: 'Bo', text: 'What colours?' },
      ...filler,
    ]
    const inChat = corpusOf(chat)
    const terms = queryTerms('What did Ada paint on 2 October 2023?')
    const dated = batch('[2023-10-02] Ada: I paint the sea. Bo: What colours?', 0, 2)
    const entries = placeBatches(
      rank('', terms, inChat),
      weightedTerms(terms, namesIn(inChat)),
      [dated, batch('[2023-10-02] Ada: talk about weather', 2, 22)],
      inChat,
    )
    expect(entries.slice(-2).map(({ kind }) => kind)).toEqual(['batch', 'batch'])
    expect(entries[0]).toMatchObject({ kind: 'message', at: 0 })
  })

  test('batches alone are ranked by what they say', () => {
    const terms = weightedTerms(queryTerms('zebra rose'), () => false)
    const ranked = rankBatches(
      terms,
      [batch('nothing of it', 0, 20), batch('zebra', 20, 21), batch('zebra and rose', 20, 22)],
      corpus,
    )
    expect(ranked.map(({ at }) => at)).toEqual([2, 1])
  })
})
