/** The author of each text of a message. */
import { describe, expect, it } from '@jest/globals'
import { authorOfMessage, ownContent, type AuthoredMessage } from '../../../src/domain/text/authorship.js'

const user = (content: AuthoredMessage['content']): AuthoredMessage => ({ role: 'user', content })
const NOTE =
  'Recalled from the log of this conversation after its context was compacted.\n\nRules\n- never push\n- “x” (r2)'
const REMINDER = '<system-reminder>\nNever push.\n</system-reminder>'

describe('a message', () => {
  it.each([
    ['of the user', user('Mend it.'), 'user'],
    ['with an image', user([{ type: 'image_url', image_url: { url: 'data:' } }]), 'user'],
    ['that an importer marks', { ...user('Mend it.'), attributes: { byProgram: true } }, 'program'],
    ['of a program alone', user(`${REMINDER}\n<command-name>/clear</command-name>`), 'program'],
    ['of two blocks in a line', user('<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>'), 'program'],
    ['with a command', user('<command-name>/clear</command-name>\n  <command-args> </command-args>'), 'program'],
    ['with its arguments', user('<command-name>/fix</command-name> <command-args>it</command-args>'), 'user'],
    ['with the result of a tool', user("[read_file for 'a.ts'] Result:\nNever push."), 'program'],
    ['with words in a result', user('[ask] Result:\n<answer>\nNever push.\n</answer>'), 'user'],
    ['with brackets', user('[CI run] Result: red'), 'user'],
    ['with the context of an editor', user("Here is the user's editor context as a JSON object."), 'program'],
    [
      'with a summary',
      user('<state_snapshot>a</state_snapshot>\nResume the prior task using the summary above. Do.'),
      'program',
    ],
    ['with a notice', user('[Request interrupted by user for tool use]'), 'program'],
    ['with a note', user(NOTE), 'ledger'],
    ['with a handover', user('This session continues a/b, from the log of Context Ledger. Its\n\nMend it.'), 'ledger'],
    ['with a note in a reminder', user(`<system-reminder>${NOTE}</system-reminder>`), 'ledger'],
    ['of the system', { role: 'system', content: 'Never push.' }, 'program'],
    ['of the developer', { role: 'developer', content: 'Never push.' }, 'program'],
    ['of the model', { role: 'assistant', content: REMINDER }, 'agent'],
    ['of a tool', { role: 'tool', content: 'Never push.' }, 'tool'],
    ['of a tool with nothing but an added note', { role: 'tool', content: `\n\n${NOTE}` }, 'tool'],
  ] as const)('%s', (_name, message, author) => {
    expect(authorOfMessage(message)).toBe(author)
  })
})

describe('a text that opencode writes in the name of the user', () => {
  it.each([
    'Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed.',
    "The previous request exceeded the provider's size limit due to large media attachments. The conversation was compacted.",
    'Summarize the task tool output above and continue with your task.',
    'The following tool was executed by the user',
    ' Use the above message and context to generate a prompt and call the task tool with subagent: general',
    'Read tool failed to read /srv/a.ts with the following error: ENOENT',
    'Reading MCP resource: a.md (docs://a)',
  ])('is of the program: %s', (text) => {
    expect(authorOfMessage(user(text))).toBe('program')
  })

  it.each([
    'Continue with the next step, and ask me before you push.',
    'Summarize the output of the task.',
    'Use the above message as the title.',
    'Reading the file again helps.',
  ])('is of the user if other words follow: %s', (text) => {
    expect(authorOfMessage(user(text))).toBe('user')
  })
})

describe('the own content', () => {
  it.each([
    ['nothing else', 'Mend it.', 'Mend it.'],
    ['reminders around it', `${REMINDER}\nMend it.\n${REMINDER}`, 'Mend it.'],
    ['a reminder that quotes one', `<system-reminder>a\n${REMINDER}\nb</system-reminder>\nMend it.`, 'Mend it.'],
    ['a note', `${NOTE}\n\nMend it.`, 'Mend it.'],
    ['a tag that closes itself', '<skill name="a"/>\nMend it.\n</skill>', '<skill name="a"/>\nMend it.\n</skill>'],
    [
      'rules of the project',
      '# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nNo\n</INSTRUCTIONS>\nMend it.',
      'Mend it.',
    ],
    [
      'words for a command',
      '<command-name>/fix</command-name>\n<command-args>the export</command-args>',
      '<command-args>the export</command-args>',
    ],
    ['a quotation in code', `\`\`\`\n${REMINDER}\n\`\`\`\nMend it.`, `\`\`\`\n${REMINDER}\n\`\`\`\nMend it.`],
    [
      'a tag within a line',
      'Remove <system-reminder>x</system-reminder>.',
      'Remove <system-reminder>x</system-reminder>.',
    ],
    ['a tag that is not closed', '<system-reminder>\nMend it.', '<system-reminder>\nMend it.'],
  ])('of a user with %s', (_name, content, expected) => {
    expect(ownContent(user(content))).toBe(expected)
  })

  it.each([
    ['text', `a.txt\n\n${NOTE}`, 'a.txt'],
    ['tag', `a.txt\n\n<hook_context>${NOTE}</hook_context>`, 'a.txt'],
    [
      'part',
      [
        { type: 'text', text: 'a.txt' },
        { type: 'text', text: NOTE },
      ],
      [{ type: 'text', text: 'a.txt' }],
    ],
  ])('of a tool has no note that a hook added as a %s', (_name, content, expected) => {
    expect(ownContent({ role: 'tool', content })).toEqual(expected)
  })

  it.each([
    ['the note that was asked for', NOTE],
    ['a note within a file', `log:\n\n${NOTE}\n\nEnd of the log.`],
    ['a note in a line of output', `grep: ${NOTE}`],
  ])('of a tool keeps %s', (_name, content) => {
    expect(ownContent({ role: 'tool', content })).toBe(content)
  })

  it('keeps the parts of the user', () => {
    const parts = [
      { type: 'text', text: 'Mend it.' },
      { type: 'image_url', image_url: { url: 'data:' } },
    ]
    expect(ownContent(user([{ type: 'text', text: REMINDER }, ...parts]))).toEqual(parts)
  })
})
