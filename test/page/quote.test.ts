import { expect, it } from '@jest/globals'
import type { JudgedItem } from '../../src/library/ledger.js'
import { quoteOf } from '../../src/interfaces/page/views/forgotten-cycle.js'

const numberIn = (text: string): JudgedItem => ({
  kind: 'number',
  text: '4,096',
  verdict: 'lost',
  said: { kind: 'message', messageId: 'm', revision: '1', text },
  saidBy: 'user',
  mentions: 1,
})

it('quotes the words around a number from the beginning of a word', () => {
  expect(quoteOf(numberIn('The table has 4,096 rows.'))).toBe('The table has 4,096 rows.')
  expect(
    quoteOf(
      numberIn('All bookings have to be exported at one time against the copy, next to the 4,096 rows of a table.'),
    ),
  ).toBe('… to be exported at one time against the copy, next to the 4,096 rows of a table.')
  const address = `https://harbour.example/${'a'.repeat(80)}`
  expect(quoteOf(numberIn(`${address}?rows=4,096`))).toContain('4,096')
})
