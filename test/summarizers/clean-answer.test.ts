import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cleanAnswer } from '../../src/application/summarizers/clean-answer.js'
import { runsOf } from '../support/length.js'

const SUMMARY = 'The user wants the billing service on Postgres 16.\n\nThe table audit_log stays as it is.'

describe('what surrounds a summary is removed', () => {
  test.each([
    ['an introduction', `Here is the summary:\n\n${SUMMARY}`],
    ['an introduction with an interjection', `Sure, here's a concise summary of the conversation:\n${SUMMARY}`],
    ['an interjection', `Certainly!\n\n${SUMMARY}`],
    ['a shortened version', `Here is the shortened version:\n${SUMMARY}`],
    ['a heading', `## Summary\n\n${SUMMARY}`],
    ['a longer heading', `# Conversation Summary\n${SUMMARY}`],
    ['a bold heading', `**Summary**\n${SUMMARY}`],
    ['a bold heading with a colon', `**Summary:** ${SUMMARY}`],
    ['a plain heading', `Summary: ${SUMMARY}`],
    ['a code fence', `\`\`\`markdown\n${SUMMARY}\n\`\`\``],
    ['quotation marks', `“${SUMMARY}”`],
    ['a closing remark', `${SUMMARY}\n\nLet me know if you need anything else!`],
    ['a closing remark on the last line', `${SUMMARY} I hope this helps.`],
    ['thoughts', `<think>\nThe user wants… "Here is the summary:"\n</think>\n${SUMMARY}`],
    ['thoughts without an opening tag', `Let me think.\n</think>\n\n${SUMMARY}`],
    ['a rule after a heading', `### Summary\n---\n${SUMMARY}`],
    [
      'everything at once',
      `<think>hm</think>\nOf course! Below is a brief summary of the messages:\n\n\`\`\`\n**Summary**\n\n${SUMMARY}\n\`\`\`\n\nFeel free to ask for more. Let me know if it helps.`,
    ],
    ['German', `Gerne! Hier ist die Zusammenfassung:\n\n${SUMMARY}`],
    ['French', `Bien sûr, voici le résumé :\n${SUMMARY}`.replace(' :', ':')],
    ['Spanish', `Claro, aquí está el resumen de la conversación:\n${SUMMARY}`],
    ['Russian', `Конечно! Вот краткое содержание разговора:\n${SUMMARY}`],
    ['Chinese', `好的，以下是对话摘要：\n${SUMMARY}\n如果您还需要其他帮助，请随时告诉我。`],
    ['Japanese', `承知しました。以下は会話の要約です：\n${SUMMARY}`],
    ['Korean', `알겠습니다. 다음은 대화 요약입니다:\n${SUMMARY}`],
  ])('%s', (_what, answer) => expect(cleanAnswer(answer)).toBe(SUMMARY))
})

describe('what belongs to the summary stays', () => {
  test.each([
    'Sure Start is the name of the program.',
    'Here is where they met: the harbour.',
    '## Files\n- src/billing/store.ts',
    '**Postgres 16** is the target.',
    'Version: 2.4 was released.',
    'Summary statistics: the mean is 4.\nThe user wants the median.',
    'The user asked "Let me know if the tests pass." The assistant ran them.',
    'Let me know if the tests pass, said the user. Then they failed.',
    '"Never touch audit_log" and "ask first" are the rules.',
    'Use this:\n```sql\nselect 1\n```',
    '```ts\nconst a = 1\n```\nis in a.ts, and\n```ts\nconst b = 2\n```\nis in b.ts',
    'The template emits <think> and </think> around its thoughts.',
    'They wrote:\n---\nand stopped.',
  ])('%s', (text) => expect(cleanAnswer(text)).toBe(text))

  test('law: a text of plain words is unchanged, and a text in the middle is never removed', () => {
    const word = fc.constantFrom('harbour', 'berth', 'ok', '42', 'src/a.ts', 'summary', 'the', '决定', '"quoted"', '—')
    const sentence = fc.array(word, { minLength: 3, maxLength: 9 }).map((words) => `Berth 7 ${words.join(' ')}.`)
    const text = fc.array(sentence, { minLength: 1, maxLength: 6 }).map((sentences) => sentences.join('\n'))
    fc.assert(
      fc.property(text, (plain) => {
        expect(cleanAnswer(plain)).toBe(plain)
        expect(cleanAnswer(`Here is the summary:\n${plain}\nLet me know if you need more.`)).toBe(plain)
      }),
      { numRuns: runsOf(200) },
    )
  })

  test('law: cleaning twice is cleaning once, and the result is a part of the answer', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 30 }),
      fc.constantFrom(
        'Here is the summary:\n',
        '## Summary\n',
        '<think>',
        '</think>',
        '\n</think>\n',
        '```\n',
        '\n```',
        '"',
        '“',
        '”',
        '---\n',
        'Sure!\n',
        '\nLet me know if it helps.',
        '\n',
      ),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const answer = pieces.join('')
        const cleaned = cleanAnswer(answer)
        expect(cleanAnswer(cleaned)).toBe(cleaned)
        expect(answer).toContain(cleaned)
      }),
      { numRuns: runsOf(500) },
    )
  })

  test('an answer of 50,000 tokens is cleaned in milliseconds', () => {
    for (const piece of ['word ', 'Let me know if ', '<think>', '</think>\n', '```\n', 'summary ', '“', '\n']) {
      const before = process.cpuUsage()
      cleanAnswer(piece.repeat(200_000 / piece.length))
      const { user, system } = process.cpuUsage(before)
      expect([piece, (user + system) / 1_000 < 500]).toEqual([piece, true])
    }
  })
})
