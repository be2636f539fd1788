/** Which sentences state a rule for the work of the other speaker. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { ruleWords, statesRule } from '../../../src/domain/text/rules.js'

interface Statement {
  /** The way in which the sentence states a rule; `none` if it states none. */
  readonly way: string
  readonly language: string
  readonly sentence: string
}

/** Each way in each of five languages, and sentences that state no rule. */
const STATEMENTS = readFileSync('test/domain/text/rules.statements.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line): Statement => JSON.parse(line))

const RULES: readonly string[] = [
  // English: orders, prohibitions, obligations, limits, preferences.
  'Never push to the release branch.',
  'never add a dependency without asking me',
  'Please never log the customer number.',
  'Always run the linter before you commit.',
  "Don't touch the generated files.",
  "- Don't rename public functions",
  'Do not call the payment service from tests.',
  'Fix the parser, but do not change its error messages.',
  'If the upload fails, don’t retry it.',
  'Make sure every migration can be rolled back.',
  'Add the field to the form and make sure old drafts still load.',
  'Ensure the job ends before midnight.',
  'Avoid global state in the worker.',
  'Only use the staging database.',
  'Please use tabs in the Makefile.',
  'The summary must have a title.',
  'Every invoice must be signed before it is sent.',
  'You must ask me before you delete a row.',
  'You should never store the token in the repository.',
  'Refunds can only be given within 30 days.',
  'A ticket number is required.',
  'Running this script in production is forbidden.',
  'Use at most 3 retries.',
  'Answers have no more than 200 words.',
  'The export has to keep its CSV columns in the same order.',
  'Both clients need to work with the old server.',
  'The report needs to be done by Friday.',
  'I prefer small functions over long ones.',
  'I would prefer that you answer in English.',
  "I don't want any new dependencies.",
  "I don't want to modify the public interface.",
  // German.
  'Bitte nie direkt auf main pushen.',
  'Niemals Passwörter in Logs schreiben.',
  'Verwende keine globalen Variablen.',
  'Jeder Bericht muss ein Datum haben und geprüft werden.',
  'Stell sicher, dass alle Tests laufen.',
  'Ich bevorzuge kurze Funktionen statt langer.',
  // French.
  'N’utilise jamais la base de production.',
  'Ne modifie pas les fichiers générés.',
  'Toujours lancer les tests avant de livrer.',
  'Chaque facture doit porter une date.',
  'Il ne faut pas toucher au schéma.',
  'Évite les variables globales.',
  // Spanish and Portuguese.
  'No toques los archivos generados en la carpeta dist.',
  'Nunca uses la base de producción.',
  'Siempre ejecuta las pruebas antes de subir.',
  'Cada informe debe incluir la fecha.',
  'Hay que validar la entrada.',
  'Não altere o esquema sem avisar.',
  // Italian.
  'Non modificare i file generati.',
  'Bisogna validare ogni campo.',
  // Russian.
  'Не трогай сгенерированные файлы.',
  'Всегда запускай тесты перед коммитом.',
  'Нельзя хранить пароль в репозитории.',
  'Отчёт должен содержать дату.',
  // Chinese.
  '不要修改生成的文件。',
  '提交之前必须运行测试。',
  '请始终用中文回答。',
  '禁止在日志里写密码。',
  '摘要最多 200 个字。',
  // Japanese.
  '生成されたファイルは変更しないでください。',
  'コミットの前に必ずテストを実行してください。',
  '本番のデータベースを使ってはいけません。',
  '日本語で書いてください。',
  'パスワードをログに残すべきではない。',
  // Korean.
  '생성된 파일은 바꾸지 마세요.',
  '커밋하기 전에 반드시 테스트를 실행하세요.',
  '모든 보고서에는 날짜를 넣어야 합니다. 꼭 확인해 주세요.',
  '운영 데이터베이스 사용 금지.',
]

const NO_RULES: readonly string[] = [
  // English: affection, memories, guesses, comfort, advice for a life, reports, questions.
  'I love horses.',
  'I always enjoy our walks by the river.',
  'I never thought I would move to the coast.',
  'I have always wanted to learn the cello.',
  'We never had a garden when I was a child.',
  'You should see it!',
  'You must be so proud of her.',
  'That must have been a hard week.',
  'It must feel wonderful to be back.',
  'Must be nice to live near the sea!',
  'The concert must’ve been amazing.',
  'Your first exhibition must be really exciting.',
  "Don't worry, it gets easier.",
  "Don't give up on your dreams!",
  "I don't know where to start.",
  "I don't have much time this week.",
  'Make sure to take care of yourself.',
  'No worries, Ada!',
  'She went home and never looked back.',
  'He always tells the same joke.',
  'I spend at least two hours a day drawing.',
  'I prefer tea.',
  'It has to be done by somebody.',
  'We just have to keep going.',
  'She has to stay in the hospital.',
  'My sister needs to be ready at eight.',
  'I want to make sure I understand the theorem.',
  'I was trying to avoid the rain.',
  'Should we always run the tests?',
  'Is a ticket number required?',
  'fix: ensure the parser always returns a list',
  'The required data is in the second sheet.',
  'As the reviewer, you must:',
  // German.
  'Ich mag Pferde.',
  'Ich habe das nie gedacht.',
  'Das muss schön gewesen sein.',
  'Ich muss jetzt los.',
  'Wir waren immer zusammen im Urlaub.',
  // French.
  'J’aime les chevaux.',
  'Je n’ai jamais pensé à ça.',
  'Tu dois être fière !',
  'Ne t’inquiète pas.',
  // Spanish, Portuguese and Italian.
  'Me encantan los caballos.',
  'Siempre me ha gustado el mar.',
  'Nunca pensé que volvería.',
  'No te preocupes por la cena.',
  'Sempre gostei de música.',
  'Non ti preoccupare.',
  // Russian.
  'Я люблю лошадей.',
  'Я никогда не думал об этом.',
  'Не волнуйся, всё получится.',
  'Я должен идти.',
  // Chinese.
  '我喜欢马。',
  '我从来没想过搬家。',
  '不要担心，会好的。',
  '我必须走了。',
  '我每天至少画半个小时。',
  // Japanese.
  '馬が好きです。',
  '心配しないでください。',
  '私は毎朝走らなければなりません。',
  // Korean.
  '저는 말을 좋아해요.',
  '걱정하지 마세요.',
  '저는 내일 일찍 일어나야 해요.',
]

describe('a rule for the work', () => {
  it.each(RULES)('is %j', (sentence) => {
    expect(statesRule(sentence)).toBe(true)
  })

  it.each(NO_RULES)('is not %j', (sentence) => {
    expect(statesRule(sentence)).toBe(false)
  })
})

describe('a way to state a rule', () => {
  it.each(STATEMENTS.filter(({ way }) => way !== 'none'))('$language, $way: $sentence', ({ sentence }) => {
    expect(statesRule(sentence)).toBe(true)
  })

  it.each(STATEMENTS.filter(({ way }) => way === 'none'))('$language, none: $sentence', ({ sentence }) => {
    expect(statesRule(sentence)).toBe(false)
  })
})

describe('the words of a rule', () => {
  it.each([
    ['Standing instruction: keep the sandbox offline', 'keep the sandbox offline'],
    ['House rule — one branch per ticket', 'one branch per ticket'],
    ['Important: amounts are net', 'amounts are net'],
    ['Hausregel: ein Branch pro Ticket', 'ein Branch pro Ticket'],
    ['Norma de la casa: una rama por ticket', 'una rama por ticket'],
    ['チームの決まり：署名を付ける。', '署名を付ける。'],
    ['团队规定：金额用整数保存。', '金额用整数保存。'],
  ])('of %j are %j', (sentence, words) => {
    expect(ruleWords(sentence)).toBe(words)
  })

  it.each(['Never log a token: it is a secret.', 'Keep replies short.', 'At 10:30 the job ends.'])(
    'of %j are the sentence',
    (sentence) => {
      expect(ruleWords(sentence)).toBe(sentence)
    },
  )
})
