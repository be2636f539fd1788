/** A summary that says something else with the words of a rule does not have the rule. */
import { describe, expect, it } from '@jest/globals'
import { isSaidBy } from '../../src/application/loss-report/same-words.js'

/** A rule, and a sentence of a summary that changes one thing in it. */
const CHANGED = {
  'two names changed places': [
    ['Convert the icons from SVG to PNG.', 'Convert the icons from PNG to SVG.'],
    ['Lade die Rechnungen aus Berlin nach Hamburg.', 'Lade die Rechnungen aus Hamburg nach Berlin.'],
    ['Copia los informes de Marta a Pablo.', 'Copia los informes de Pablo a Marta.'],
    ['画像はHEICからJPEGに変換して。', '画像はJPEGからHEICに変換して。'],
    ['把报表从Excel转成CSV。', '把报表从CSV转成Excel。'],
  ],
  'another side': [
    ['Round the fees up to whole cents.', 'Round the fees down to whole cents.'],
    ['Die Gebühren werden aufgerundet auf ganze Cent.', 'Die Gebühren werden abgerundet auf ganze Cent.'],
    ['Redondea las tasas hacia arriba al céntimo.', 'Redondea las tasas hacia abajo al céntimo.'],
    ['料金は円単位で切り上げてください。', '料金は円単位で切り捨ててください。'],
    ['费用向上取整到分。', '费用向下取整到分。'],
  ],
  'a demand that became a permission': [
    ['You have to ask Marek before a migration.', 'The agent may ask Marek before a migration.'],
    ['Du musst vor einer Migration Marek fragen.', 'Du kannst vor einer Migration Marek fragen.'],
    ['Debes usar la plantilla carta.odt.', 'Puedo usar la plantilla carta.odt.'],
    ['移行の前にマレクに確認してください。', '移行の前にマレクに確認してもいい。'],
    ['迁移前必须问马雷克。', '迁移前可以问马雷克。'],
  ],
  'an exception that became none': [
    ['Delete the old berths, but keep those of Ines.', 'Delete the old berths, including those of Ines.'],
    ['Lösche die alten Plätze, aber nicht die von Ines.', 'Lösche die alten Plätze, einschließlich die von Ines.'],
    ['Borra las plazas viejas, pero no las de Inés.', 'Borra las plazas viejas, incluidas las de Inés.'],
    ['電話番号は暗号化してから保存してください。', '電話番号は暗号化せずに保存してください。'],
    ['每周四下午四点发送报告。', '每周一下午四点发送报告。'],
  ],
} satisfies Readonly<Record<string, [rule: string, text: string][]>>

describe.each(Object.entries(CHANGED))('%s', (_kind, pairs) => {
  it.each(pairs)('“%s” is not said by “%s”', (rule, text) => {
    expect(isSaidBy(rule, [{ text }], true)).toBe(false)
    expect(isSaidBy(rule, [{ text: rule }], true)).toBe(true)
  })
})

describe('a rule', () => {
  it.each([
    ['You must never push to main.', 'The user said: never push to main, because the deploy starts there.'],
    ['Bitte niemals auf main pushen.', '- Regel: niemals auf main pushen (r12)'],
    ['Vergiss nicht, vor dem Commit die Tests zu starten.', 'Vergiss nicht, vor dem Commit die Tests zu starten.'],
    ['忘れずに毎朝ログを確認してください。', 'ルール：忘れずに毎朝ログを確認する。'],
    ['提交前一定要跑测试。', '用户要求：提交前一定要跑测试。'],
  ])('“%s” is said by “%s”', (rule, text) => {
    expect(isSaidBy(rule, [{ text }], true)).toBe(true)
  })
})
