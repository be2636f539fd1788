/** The ways in which German states a rule for the work of the other speaker. */
import { GERMAN_SIGNALS } from './german-signals.js'
import {
  IMPERATIVES,
  ORDER,
  DAYS,
  TIME,
  NO,
  ONLY,
  APPROVAL,
  APPROVED,
  TONGUE,
  STANDING,
  WIPE,
  STORY,
  PAST,
  ONCE,
} from './german-words.js'
import { ACTS, COMMAND_OF, REPORTS } from './programs.js'
import { LATIN, anywhere, order, wordsOf, type Language } from './way.js'

export const GERMAN: Language = {
  letters: /[a-z]/u,
  alphabet: LATIN,
  frequent:
    wordsOf(`der die das den dem des ein eine einen einem einer eines und oder aber nicht nichts kein keine keinen keinem keiner
    nur immer nie niemals stets bitte ich du wir sie er es mir mich dir dich uns euch ihr auf für mit von vom bei beim im ist sind wird
    werden wenn dass auch vor nach über zum zur darf dürfen muss müssen soll sollen ab jeder jede jedes jeden alle allen ohne statt
    höchstens maximal mindestens finger hände erst aus durch unter zwischen grundsätzlich ausschließlich verwende verwenden nutze
    vermeide antworte künftig standardmäßig wer falls sobald bevor regel hausregel sonst nirgendwo nirgends niemandem dann lieber bis an bleibt bleiben geht gehen braucht brauchen kommt kommen läuft laufen gilt gelten
    gehört gehören steht stehen bekommt bekommen pro je anstatt anstelle stell achte fass halte tabu zu`),
  signals: GERMAN_SIGNALS,
  ways: [
    order(
      'prohibition, obligation: infinitive',
      String.raw`(?:niemals|nie(?! wieder| zuvor| mehr)|immer(?! noch| wenn| wieder| mehr)|nur(?! (?:den|die|das|der|dem|für|so|noch|weil|dass|ein\p{L}*|mal|kurz|zum|wenn)(?!\p{L}))|auf keinen fall|keinesfalls|unter keinen umständen|unbedingt|stets|grundsätzlich|ausnahmslos|zwingend|nicht|bitte) (?:\S+ ){0,9}?\p{Ll}{3,}e?n(?=[.,;:!)–—-]|\s[–—-]|$)`,
      { not: STORY },
    ),
    anywhere(
      'prohibition, obligation: infinitive at the end',
      String.raw`(?:niemals|nie|immer|stets|grundsätzlich|ausnahmslos|ausschließlich|zwingend|nicht|vorher|zuerst|keine?n?|erst|vorab|generell|konsequent|jedes mal|nur) (?:[^\s,;]+ ){0,10}?(?!(?:einen|keinen|meinen|deinen|werden|können|wollen|sollen|müssen|dürfen|haben|hatten|waren|sind|wurden|würden|ihnen|denen|morgen|wegen|gegen|leben|daten|kunden|wochen|stunden|minuten|namen)(?!\p{L}))\p{Ll}{4,}(?:en|ern|eln)(?=[.,;:!)–—-]|\s[–—-]|$)`,
      {
        not: /(?<!\p{L})(?:ich|er|wir|uns|war|waren|hat|hatte|hatten|habe|haben|wurde|wurden|woll\p{L}*|konnte\p{L}*|können|kann|werden|wird|würde\p{L}*|möchte\p{L}*|lass uns|mein|man|zu \p{L}+en|sollten|als kind\p{L}*|weil|schon|drücken|um)(?!\p{L})/u,
      },
    ),
    order(
      'prohibition: imperative with a negation',
      String.raw`${ORDER} (?:[^\s,;]+ ){0,8}?(?:nie|niemals|nicht|nichts|kein(?:e|en|em|er)?|nur|immer|ausschließlich|stets|höchstens|maximal|grundsätzlich|jedes mal)(?! (?:so schwer|traurig|zu viele gedanken))`,
      { not: ONCE },
    ),
    order(
      'obligation: imperative, always',
      String.raw`\p{L}{4,}(?<!st) (?:bitte |mir |uns |dich |den |die |das |dem |der |jede\p{L}* |alle\p{L}* |neue\p{L}* |in |bei |für |vor |nach |auf |\p{L}{4,} )(?:[^\s,;]+ ){0,8}?(?:grundsätzlich|immer|stets|ausnahmslos|jedes mal|generell|nie|niemals|keinesfalls|ausschließlich)(?!\p{L})`,
      { not: STORY },
    ),
    anywhere(
      'obligation: du-form',
      String.raw`\p{L}{2,}(?<!bi|ha|wei|kann|will|mag|weiß|denk|glaub|sieh|wir|sag|mein)st du (?:[^\s,;]+ ){0,10}?(?:nur|immer|nie|niemals|nicht|kein\p{L}*|als|ausschließlich|grundsätzlich|alle|jede\p{L}*|vorher|zuerst|stets|erst|bitte|keinesfalls)|(?:bevor|wenn|sobald|falls|ehe) [^?]{4,120}, \p{L}{2,}(?<!bi|ha|kann)st du`,
      { not: /(?<!\p{L})(?:ich|war|warum|wieso|wann|würdest|könntest)(?!\p{L})/u },
    ),
    anywhere('prohibition: kein command', `keine?n? (?:${COMMAND_OF}|${ACTS})`, { not: REPORTS }),
    anywhere(
      'approval: nur nach Rückfrage',
      String.raw`nur (?:nach|mit|auf) (?:vorheriger |meiner |meinem |ausdrücklicher )*(?:rückfrage|rücksprache|absprache|nachfrage|zustimmung|freigabe|ansage|ok)|nur,? wenn ich (?:\S+ ){0,4}?(?:zugestimmt|gesagt|freigegeben|genehmigt|gesehen)`,
    ),
    anywhere(
      'permission: aber nicht',
      String.raw`du (?:kannst|darfst) [^?]{3,120}? aber (?:nicht|nie|nichts|keine?n?) (?:auf|in|an|zu|mit|über|im|am|die|den|das)`,
    ),
    anywhere(
      'obligation: bitte, vermeide, stell sicher',
      String.raw`bitte (?:nicht|keine?n?|nur|immer|nie(?:mals)?|stets|grundsätzlich|ausschließlich|vorher|erst|jedes mal)|vermeide[nt]?|unterlass\p{L}*|verzichte[nt]? (?:\S+ ){0,3}?auf|(?:stell|stelle|stellt|stellen)(?: sie)?(?: bitte)?(?: immer)? sicher|acht(?:e|en sie|et)? (?:bitte |immer |stets )*(?:darauf|auf)|sorg(?:e|t|en sie)? (?:bitte |immer )*dafür|vergewisser\p{L}* (?:dich|sie sich)|denk(?:e|t)? (?:bitte |immer |auch )*(?:daran|dran|an)|pass(?:e|t)? (?:bitte )?auf, dass|(?:schau|guck|sieh)(?:e|t)? (?:bitte )?(?:immer )?(?:zu|darauf|drauf)?, ?dass|kümmer\p{L}* dich (?:immer )?darum|gib (?:immer )?acht|vergiss (?:\S+ ){0,6}?nicht|(?:verwende|benutze|nutze|ändere|schreibe?|lösche?) (?:\S+ ){0,4}?(?:nie(?:mals)?|nicht|nur|immer|keine?n?)`,
      { not: ONCE },
    ),
    order(
      'prohibition: hands off',
      'finger weg|hände weg|pfoten weg|lass(?:e|t|en sie)? (?:bitte )?(?:die finger|die hände|die pfoten)|bleib(?:e|t)? (?:bitte )?(?:\\S+ ){0,8}?(?:weg|fern|raus|fort)|lass(?:e|t)? (?:\\S+ ){1,8}?(?:in ruhe|in frieden|unangetastet|unberührt|so,? wie|unverändert|stehen|liegen)|halte? dich (?:\\S+ ){0,8}?(?:fern|raus|heraus)',
    ),
    anywhere(
      'prohibition: off limits',
      String.raw`(?:ist|sind|bleibt|bleiben|gilt als|gelten als) (?:\S+ ){0,5}?(?:tabu|tabuzone|sperrzone|sperrgebiet|off limits|verboten|untersagt|unzulässig|nicht (?:gestattet|zulässig|erlaubt|vorgesehen|anzufassen|verhandelbar)|unantastbar|pflicht|vorgeschrieben|zwingend|verpflichtend|obligatorisch)|(?:geht|gehen) dich nichts an|für dich (?:gesperrt|tabu|verboten|nicht)|hat dich nicht zu interessieren|hast du nichts (?:zu suchen|verloren)`,
      { not: PAST },
    ),
    order(
      'prohibition: no X in Y',
      String.raw`(?:bloß |bitte |und |absolut )?keine?[nrm]? (?!(?:ahnung|sorge|angst|fragen?|zeit|lust|panik|problem|probleme|wunder|rolle|eile|chance|idee|spur|mehr|plan|fehler|antwort|einzige\p{L}*|von)(?!\p{L}))(?:[^\s,;?!]+ ){1,6}?(?:in|an|im|ins|auf|ohne|vor|nach|für|zwischen|bei|beim|von|am|mehr|über|unter|außerhalb|bitte|mit|montags|dienstags|mittwochs|donnerstags|freitags|samstags|sonntags|als)(?! (?:mir|uns|meinem|meiner)(?!\p{L}))`,
      {
        not: /(?<!\p{L})(?:ich|er|war|waren|hat|hatte|haben|habe|gibt|gab|ist|sind|wurde|findet|finden|kann|würde|wir|gefunden|mein\p{L}*)(?!\p{L})/u,
      },
    ),
    // "Das muss schön gewesen sein" is a guess, "ich muss los" the speaker's own matter.
    anywhere(
      'obligation: muss, darf',
      String.raw`(?:muss|müssen|musst|darf|dürfen|darfst)(?! (?:ich|wir|schon|wohl|ja)(?!\p{L}))(?!(?: \S+){0,6} (?:gewesen|gehabt)(?!\p{L}))(?! (?:\S+ ){0,3}?(?:schön|toll|hart|schwer|aufregend|stolz|spannend|anstrengend|furchtbar|schrecklich|wunderbar)(?!\p{L}))`,
      {
        unless: /(?<![\p{L}\p{N}])(?:ich|das|es|er|wir|dann|man)\s+$/u,
        not: /(?<!\p{L})(?:schweiz muss|muss man|durften|früher)(?!\p{L})/u,
      },
    ),
    anywhere(
      'obligation: soll nur, nie',
      String.raw`(?:soll|sollen|sollst|sollte|sollten|hat|haben) (?!ich|wir)(?:[^\s,;]+ ){0,8}?(?:nie|niemals|nicht|nur|immer|kein\p{L}*|mindestens|höchstens|stets|ausschließlich|zu (?:erfolgen|stehen|bleiben|sein|unterbleiben))(?! (?:\S+ )*?ge\p{L}+(?:t|en)(?!\p{L}))`,
      {
        not: /(?<!\p{L})(?:ich|er|wir|man|hatte|solle|habe|hat (?:mich|mir|sich|er|sie)|haben (?:wir|sie|uns))(?!\p{L})/u,
      },
    ),
    anywhere(
      'obligation: soll werden',
      String.raw`soll(?:en|te|ten)? (?!ich|wir|es |das heißen)[^,;?]{2,70}? (?:werden|bleiben|enthalten|stehen|haben)(?=[.,;!]|$)`,
      { not: /(?<!\p{L})(?:ich|er|wir|man|mein\p{L}*|hätte\p{L}*)(?!\p{L})/u },
    ),
    anywhere(
      'approval: I confirm every X',
      String.raw`(?:muss|will|möchte|werde) ich (?:[^\s,;]+ ){0,4}?(?:bestätigen|freigeben|absegnen|sehen|genehmigen|prüfen|abnehmen|abzeichnen|gefragt werden)|(?:bekommt|bekommen|kriegt|kriegen|erhält|erhalten|sieht|geht|gehen) (?:[^\s,;]+ )?(?:nur|ausschließlich) |(?:nur|ausschließlich) für (?:\p{L}+ ){1,3}?(?:bestimmt|gedacht|sichtbar|freigegeben)`,
      { not: PAST },
    ),
    anywhere(
      'obligation: ist zu',
      String.raw`(?:ist|sind) (?:[^\s,;]+ ){0,8}?(?:stets|vorab|vor|bis|ausschließlich|nur|zwingend|grundsätzlich|immer|nicht|mindestens|in|mit|über|an) (?:[^\s,;]+ ){0,6}?(?:zu (?!sehen|hören|verstehen|glauben|fassen|finden|spüren|haben)\p{L}+en|\p{L}+zu\p{L}+en)(?=[.,;!]|$)`,
      { not: STORY },
    ),
    order(
      'obligation: jeder X',
      String.raw`(?:jede[rsnm]?|alle|sämtliche) (?!(?:menschen?|leute|tag|zeit|nacht|mal|dinge|hände|leben)(?!\p{L}))(?:[^\s,;]+ ){1,8}?(?:braucht|brauchen|benötigt|benötigen|bekommt|bekommen|kriegt|kriegen|enthält|enthalten|trägt|tragen|gehört|gehören|kommt|kommen|geht|gehen|erhält|erhalten|erklärt|erklären|beschreibt|nennt|verweist|zeigt|beginnt|beginnen|endet|enden|heißt|heißen|läuft|laufen|wird|werden)`,
      { not: STORY },
    ),
    order(
      'obligation: wer X, der',
      String.raw`wer (?!weiß|hat|ist|bin|sind|kann|will)[^,?]{3,90}, (?:der |die )?(?:\p{L}+t|muss|darf|soll)(?!\p{L})`,
      { not: PAST },
    ),

    anywhere(
      'cap: is capped',
      String.raw`(?:auf|bei|zu) (?:[^\s,;]+ ){1,7}?(?:gedeckelt|begrenzt|beschränkt|limitiert|eingeschränkt|gekappt|gedrosselt)|(?:begrenzt|beschränkt|limitiert|gedeckelt) (?:auf|bei)|(?:beschränkt|beschränken|begrenzt|begrenzen) sich auf|(?:beschränk|begrenz|limitier|deckel)\p{L}* (?:\S+ ){1,8}?auf`,
      { not: PAST },
    ),
    anywhere(
      'cap: the cap is',
      String.raw`\p{L}*(?:obergrenze|limit|höchstgrenze|untergrenze|grenze|budget|maximum|minimum|deckel|kontingent|höchstbetrag|schmerzgrenze|höchstwert|höchstmaß)(?: (?:für|bei|pro|von|je|im|am)(?: [^\s,.;]+){1,4}?)? (?:ist|sind|liegt|liegen|beträgt|betragen|von|bei|lautet|steht)(?: [^\s,.;]+){0,6}? (?:bei |auf |ist )?(?:\d[\d.,]*|ein|zwei|drei|vier|fünf|zehn)\p{L}*|wir (?:deckeln|begrenzen|beschränken|limitieren|kappen) |\d[^?]{2,40}, mehr nicht|mehr (?:gibt es|geht|sind) nicht|(?:ist|liegt) (?:\S+ ){0,4}?(?:die|das|der) (?:obergrenze|limit|maximum|grenze|deckel)|(?:bei|ab) \d\S*(?: \S+){0,3} ist (?:schluss|ende|feierabend)|mehr als \S+(?: \S+){0,4} (?:ist|sind|gibt es|geht) nicht(?: drin)?`,
      { not: /(?<!\p{L})(?:ich|war|waren|mein\p{L}*|wurde|tarif|error|fehler)(?!\p{L})/u },
    ),
    anywhere(
      'cap: at most',
      String.raw`(?:höchstens|maximal|max\.|mindestens|allerhöchstens|(?:nicht|nie|niemals|keinesfalls|keine) (?:mehr|länger|höher|größer|weniger|später|früher|teurer) als)(?: \S+)? ?(?:\d|ein|zwei|drei|vier|fünf|sechs|sieben|acht|zehn|zwölf|zwanzig|hundert)\S*|(?:\d\S*|zwei|drei|vier|fünf|zehn)(?: \S+){1,3} (?:maximal|höchstens|sind das maximum|reichen|genügen)`,
      {
        unless: /(?<!\p{L})(?:ich|wir|er|hat|habe|war)(?!\p{L})/u,
        not: /(?<!\p{L})(?:möglich|tarif|war|hatte|wurde)(?!\p{L})/u,
      },
    ),
    anywhere(
      'cap: stay under',
      String.raw`(?:bleib|halt)(?:e|t|en sie)? (?:\S+ ){0,12}?(?:unter|unterhalb|innerhalb|im rahmen)|(?:unter|unterhalb von) \d\S*(?: \S+){0,4} bleiben|(?:nicht|nie|niemals) (?:über|überschreiten|überschritten|überziehen)(?! \p{L}+ (?:hinweg|reden|sprechen))|(?:nicht|nie|niemals|keinesfalls) (?:\S+ ){0,6}?(?:überschreit\p{L}*|übersteig\p{L}*|überzieh\p{L}*)|(?:überschreite|übersteige|überziehe?)(?: \S+){1,6} (?:nicht|nie)`,
      { not: PAST },
    ),

    anywhere(
      'approval: needs approval',
      String.raw`(?:brauch|benötig|erforder|bedarf|bedürf|verlang|setz|bedingt|erst nach|nur nach|nur mit|ohne|warte?|hol|einhol|bedarf|unterlieg|nicht ohne)\p{L}*(?: \p{L}+){0,9}? (?:\p{L}+e )?${APPROVAL}|${APPROVAL} (?:\S+ ){0,6}?(?:erforderlich|nötig|notwendig|pflicht|vorausgesetzt|einholen|abwarten|abzuwarten|brauche ich|benötigt)|ohne (?:meine?|deine?|vorherige|ausdrückliche|schriftliche|explizite)|genehmigungspflichtig|freigabepflichtig|zustimmungspflichtig`,
      { not: /(?<!\p{L})(?:ich (?:habe|hatte|musste|warte)|gestern|musste|hatte|hat|bekam|wurde|ob)(?!\p{L})/u },
    ),
    anywhere(
      'approval: only after approval',
      String.raw`(?:erst|nur|frühestens|nicht|nichts|kein\p{L}*)(?: \S+){0,8}?,? (?:wenn|nachdem|nach|sobald|bevor|bis|ehe)(?: [^\s]+){0,9}? ${APPROVED}`,
      { not: /(?<!\p{L})(?:hatte|wurde|war|lass uns|gestern)(?!\p{L})/u },
    ),
    order(
      'approval: ask before',
      String.raw`(?:frag|sprich|meld|klär|sag|hol|wart|zeig|gib|stimm|schreib|ruf|informier|konsultier|kontaktier|leg|lass|vorab|erst|zuerst|vorher|rücksprache)\p{L}*(?: \S+){0,14}? (?:bevor|vorher|zuerst|vorab|erst|ehe|im voraus|vor jede\p{L}+|vor dem|vor der|(?:nach)?fragen)(?!\p{L})|(?:bevor|ehe|vor jede[rmn]?|vor dem|vor der) [^?]{3,100}?(?:,|\s) ?(?:bitte |immer |erst |kurz |zuerst )*(?:${IMPERATIVES})e?(?! (?:ich|er|sie|wir))(?= )`,
      { not: /(?<!\p{L})(?:jetzt|heute|ich|wir|war|hatte|lass uns|nochmal)(?!\p{L})/u },
    ),
    order(
      'approval: ask me',
      String.raw`(?:frag(?:e|en sie)?|hol(?:e)? dir|sprich|stimm)(?:\S* )(?:\S+ ){0,6}?(?:bevor|vorher|zuerst|ab,|rücksprache|erlaubnis|nach,)`,
    ),

    anywhere(
      'window: only between',
      String.raw`(?:${ONLY}|erst|frühestens|spätestens|nicht|nie)(?: \S+){0,5}? (?:zwischen|von|ab|nach|vor|am|an|bis|während|in|außerhalb|um)(?: (?:der|den|dem|einem))? ${TIME}|(?:${ONLY}|frühestens|spätestens) (?:${DAYS})|erst ab \d|(?:${DAYS}) (?:nur|ausschließlich)`,
      { not: PAST },
    ),
    anywhere(
      'window: none before, on a day',
      String.raw`(?:vor|nach|ab|zwischen|am|an|bis|während|außerhalb|in)(?: (?:der|den|dem|einem|jedem))? ${TIME}(?: \S+){0,8}? ${NO}|(?:${DAYS})(?: \S+){0,8}? (?:${NO}|tabu|frei|ruht|gesperrt)|${NO}(?: \S+){1,8}? (?:(?:vor|nach|ab|zwischen|am|an|während|außerhalb) (?:der |den |dem |einem )?${TIME}|(?:${DAYS})(?!\p{L}))`,
      { not: STORY },
    ),

    anywhere(
      'route: only through, to, in',
      String.raw`(?:laufen|läuft|lauft|gehen|geht|gehst|liegen|liegt|gehören|gehört|schick\p{L}*|send\p{L}*|kommen|kommt|bleiben|bleibt|speicher\p{L}*|werden|wird|stehen|steht|darf|dürfen|leit\p{L}*|bestell\p{L}*|zahl\p{L}*|überweis\p{L}*|buch\p{L}*|nutz\p{L}*|erfolg\p{L}*|leg\p{L}*|lager\p{L}*|kommunizier\p{L}*|mail\p{L}*|melde\p{L}*|hinterleg\p{L}*|wohnen|leben|existieren|ab)(?: [^\s,;]+){0,6}? ${ONLY} (?:\p{L}+ )?(?:über|via|per|durch|mit|an|bei|von|aus|in|im|ins|auf|unter|nach|zu|zum)(?!\p{L})|${ONLY} (?:über|via|per|an|im ordner|in) \S+(?: \S+){0,10}? (?:schicken|senden|ablegen|speichern|versenden|bestellen|laufen|verschicken|weiterleiten|zahlen|leiten|legen|lagern|aufbewahren|buchen|kommunizieren|melden)`,
      { not: PAST },
    ),
    anywhere(
      'route: nowhere else',
      String.raw`sonst (?:nirgendwo\p{L}*|nirgends|niemand\p{L}*|keine\p{L}*|nichts)|(?:nirgends|niemand\p{L}*|nirgendwo) sonst|(?:und |an |in |auf |über )?(?:nirgendwo|niemand\p{L}*) ander\p{L}*|(?:auf |über |in |an )?keine[nmr]? ander\p{L}+ (?:weg|kanal|ort|adresse|stelle|ordner|konto)|kein anderer (?:weg|kanal|ort)|immer (?:über|via|per|an) \S+|(?:geht|gehen|laufen|läuft|muss|müssen) (?:\S+ ){0,5}?immer (?:über|durch|an|zu|in)`,
      { not: STORY },
    ),
    anywhere(
      'route: copy on every',
      String.raw`(?:in|ins|auf) (?:cc|bcc|kopie)|(?:cc|bcc) (?:an|bei|auf|setzen|nehmen)|(?:nimm|setz|kopier)\p{L}* (?:\S+ ){1,10}?(?:cc|bcc|kopie|verteiler)`,
      { not: PAST },
    ),
    anywhere(
      'place: belongs in',
      String.raw`gehör(?:t|en) (?:[^\s,;]+ ){0,6}?(?:nicht|nur|immer|ausschließlich|niemals|nie|hier|alle)? ?(?:in|ins|im|auf|unter|zu|nach|hinter)(?!\p{L})(?! (?:meiner|meinem|mir))|ha(?:t|ben) (?:\S+ ){0,6}?nichts (?:zu suchen|verloren)|(?:landen|landet|kommen|kommt|tauchen|taucht|erscheinen|verlassen|verlässt|bleiben|bleibt) (?:[^\s,;]+ ){0,6}?(?:nie|niemals|nicht|nur|ausschließlich)(?!\p{L})`,
      { not: /(?<!\p{L})(?:ich|er|war|waren|hatte\p{L}*|habe|wurde\p{L}*|wir|mein\p{L}*|man|möglich)(?!\p{L})/u },
    ),
    anywhere(
      'contrast: nicht, sondern',
      String.raw`nicht (?!nur|bloß|allein)(?:[^\s,;]+ ){1,7}?, ?sondern|nicht (?!nur)[^,;.]{2,60}, sondern|wir (?:siezen|duzen|nutzen|benutzen|verwenden|schreiben|rechnen|speichern|deployen|pushen|mergen|committen|nennen|liefern|verschicken|senden|buchen|runden|loggen|zahlen|testen|arbeiten|sagen|sprechen|geben|ändern|löschen|führen|bestellen|liefern)(?: [^\s;]+){1,12}? (?:nicht|kein\p{L}*|nie|niemals|immer|nur|grundsätzlich|stets|ausschließlich|statt)|(?:(?:ton|stil|format|\p{L}*sprache|anrede|währung|zeitzone|schreibweise|einheit) (?:ist|bleibt)|raus|werden|wird|heißen|heißt|stehen|steht|schreib\p{L}*|kommen|kommt|gehen|geht|gilt|gelten|in|auf|mit|als|laufen|läuft)(?: [^\s,;]+){1,8}?,? (?:und )?(?:nicht|nie|niemals) (?:in|als|auf|mit|per|über|an|im|ins|von|zu|nach|unter|bei|die|den|das|der|dem|\p{L}+)(?=[^?]*$)`,
      {
        not: /(?<!\p{L})(?:ich|er|war|waren|hatte\p{L}*|habe|haben|hat|wurde\p{L}*|mein\p{L}*|weiß|konnte\p{L}*|kann|können|gefunden|funktioniert|geht nicht|lass uns|heute|möglich|will|noch nicht|nicht (?:so|mehr|sicher|ganz|gut|schlecht|schlimm|wirklich|immer|leicht|einfach|unbedingt|zu \p{L}+))(?!\p{L})/u,
      },
    ),
    order(
      'contrast: X statt Y',
      String.raw`${ORDER} (?:\S+ ){1,14}?(?:statt|anstatt|anstelle|an stelle|lieber als)(?!\p{L})`,
      { not: ONCE },
    ),
    order(
      'contrast: for Y, X statt Z',
      String.raw`(?:für|in|bei) (?:[^\s,;]+ ){1,6}?(?:statt|anstatt|anstelle)(?!\p{L})`,
      { not: STORY },
    ),
    anywhere(
      'contrast: statt',
      String.raw`(?:immer|grundsätzlich|generell|hier|projekt|repo|bitte|lieber|besser)(?: \S+){1,8}? (?:statt|anstatt|anstelle)(?!\p{L})|(?:statt|anstelle) (?:\S+ ){1,6}?(?:nutz|verwend|benutz|nimm|schreib|nehm|immer|nutzen|setzen)\p{L}*`,
      { not: STORY },
    ),

    anywhere(
      'data: scrub before',
      String.raw`${WIPE}\p{L}*(?: \S+){0,14}?,? (?:bevor|ehe|vor dem|vor der|immer|überall|stets|wo immer|in allen|aus allen|jedes mal|nur die letzten)|(?:bevor|ehe|vor dem|vor der|vor jede\p{L}+|immer|überall|stets|in (?:allen|jedem)|aus allen|müssen|muss|werden|wird|nur)(?: \S+){0,14}? (?:zu )?(?:un)?(?:ge|aus|ver|be)?${WIPE.replace('ersetz|', '')}\p{L}*|(?:nur|bis auf) die letzten (?:\S+ ){1,3}(?:stellen|ziffern|zeichen)`,
      { not: /(?<!\p{L})(?:ich|war|waren|hatte|wurde|wurden|jetzt|heute|gestern|lass uns)(?!\p{L})/u },
    ),

    anywhere(
      'style: I prefer',
      String.raw`ich bevorzuge|(?:hätte|mag|lese|sehe|will) ich (?:am liebsten|lieber|gern\p{L}*|nie|keine) |(?:ist|sind|wäre|wären) (?:mir|uns) (?:\S+ ){0,8}?(?:lieber|am liebsten|wichtiger)|(?:mir|uns) (?:ist|sind|wäre|wären|gefallen|passt|passen|reicht|reichen|genügt|genügen) (?:\S+ ){0,9}?(?:lieber|besser|mehr als|völlig|vollkommen)|ich (?:mag|hätte|habe|hab|möchte|will|lese|sehe|arbeite|nehme|bekomme|kriege|hab's) (?:\S+ ){0,8}?(?:lieber|gern\p{L}* kurz|am liebsten)[^.]{0,60}?(?:als|statt|wenn du|kurz|knapp)|ich möchte(?: nicht| nie)?, dass (?:du|sie)|ich will (?:nicht|nie|keine)(?: \S+)*? (?:dass|sehen|lesen|haben)|lieber (?:\S+ ){1,8}?(?:als|statt)(?!\p{L})`,
      { not: /(?<!\p{L})(?:wäre ich|früher|damals)(?!\p{L})/u },
    ),
    anywhere(
      'style: answer in a language',
      String.raw`(?:antwort|schreib|sprich|sprech|red|kommunizier|formulier|kommentier|erklär|bleib|verfass|halt)\p{L}*(?: (?!diese|mir den|den absatz|die mail)\S+){0,8}? (?:auf|in|bei) ${TONGUE}|${TONGUE} (?:sprechen|schreiben|antworten|reden|verwenden)|(?:kommentare|antworten|nachrichten|commits?|texte|mails|doku\p{L}*|berichte|bezeichner|variablen|commit-\p{L}+|alles|tickets|code)(?: \S+){0,8}? (?:auf|in) ${TONGUE}`,
      { not: ONCE },
    ),
    anywhere(
      'style: keep it short',
      String.raw`fass(?:e|t|en sie)? (?:dich|sich|euch) (?:bitte |immer )?(?:kurz|knapp)|halt(?:e|t|en sie)? (?:\S+ ){1,8}?(?:kurz|knapp|knackig|einfach|sauber|aktuell|getrennt|klein|formell|förmlich|höflich|schlank|sachlich|übersichtlich|vertraulich|geheim|konsistent|minimal)|(?:kurze|knappe) (?:antworten|sätze|nachrichten|commit)|(?:antwort|schreib|formulier|bleib)\p{L}* (?:\S+ ){0,5}?(?:kurz|knapp|förmlich|höflich|sachlich|freundlich|per du|per sie|in ganzen sätzen|stichpunkt\p{L}*|in stichworten)|kurz und (?:knapp|bündig)|(?:duz|siez)e? (?:mich|kunden|die|unsere)`,
      { not: ONCE },
    ),

    order(
      'condition: when X, do Y',
      String.raw`(?:wenn|falls|sobald|sofern|immer wenn|jedes mal,? wenn|sollte|sollten|kommt|kommen|schlägt|schlagen|geht|fällt|ist|gibt|bei|findest|stößt|meldet|fragt|tritt|taucht|läuft|scheitert|dauert|liegt|übersteigt|überschreitet|bricht|fehlt|bekommst|siehst)(?! (?:ich|wir)(?!\p{L})) [^?]{3,170}?(?:,|\s)(?: ?(?:dann|so|bitte|einfach|sofort|immer|erst))* ?(?<=, |dann |bitte |sofort )(?:${IMPERATIVES})(?:e|en sie|t)?(?! (?:ich|er|es|wir|das|die|der|sie)(?!\p{L}))(?= )`,
      { not: /(?<!\p{L})(?:mach dir keine|keine sorgen|war|hatte|meld dich gern|melde dich gern)(?!\p{L})/u },
    ),
    order(
      'condition: stop if',
      String.raw`(?:brich|stopp|halt|hör|roll|eskalier|unterbrich|pausier|meld|sag|ruf|informier|benachrichtig|weck)\p{L}*(?: \S+){0,8}?,? (?:wenn|falls|sobald|sofern)(?!\p{L})`,
      { not: ONCE },
    ),

    order(
      'exclusivity: only X may',
      String.raw`(?:nur|ausschließlich|einzig|allein) (?:[^\s,;]+ ){1,7}?(?:darf|dürfen|entscheidet|entscheiden|genehmigt|genehmigen|unterschreibt|hat das recht|ist berechtigt|sind berechtigt|ist befugt|sind befugt|kann|können|gibt|geben|hat zugriff|haben zugriff|mergt|deployt|ändert|bearbeitet|soll|sollen)(?!\p{L})|(?:niemand|keiner)(?: \S+){0,3}? (?:außer|als)(?!\p{L})|außer (?:[^\s,;]+ ){1,5}?(?:darf|kann|fasst|ändert|hat) (?:\S+ )*?(?:niemand|keiner)|(?:niemand|keiner) (?:\S+ ){0,5}?(?:darf|fasst|ändert|pusht|merged?t?|löscht|bearbeitet|deployt)`,
      { not: PAST },
    ),
    anywhere(
      'exclusivity: the only one',
      String.raw`(?:die|der|das|den|dem|das) einzige[nrs]?(?: [^\s;]+){1,14}? (?:darfst|darf|dürfen|erlaubt|kannst|berechtigt|befugt|sollst|entscheiden|freigeben)|ist (?:\S+ ){0,6}?(?:vorbehalten|allein \p{L}+ sache|sache (?:von|des|der))|sind (?:\S+ ){0,6}?vorbehalten|darfst du (?:\S+ ){0,6}?(?:nur|ausschließlich)|(?:nur|ausschließlich|allein) durch|(?:entscheidet|genehmigt|unterschreibt|gibt frei) (?:\S+ ){0,3}?(?:nur|allein|ausschließlich)`,
      { not: PAST },
    ),

    anywhere(
      'freeze: is frozen',
      String.raw`(?:ist|sind|bleibt|bleiben|gilt|gelten|wird|werden|seit \S+|behand(?:el|l)\p{L}*|betracht\p{L}*)(?: [^\s;]+){0,12}? (?:als )?(?:eingefroren|schreibgeschützt|read[- ]?only|nur lesbar|lesbar|nur[- ]lese\p{L}*|unveränderlich|festgeschrieben|nur (?:noch )?(?:zum lesen|gelesen|lesend)|unantastbar|abgeschlossen|stillgelegt|zum lesen|nur lesen)(?!\p{L})|\p{L}*(?:freeze|änderungsstopp|einfrierung|deploy-stopp|releasestopp|änderungssperre) (?:bis|ab|von|gilt|für|im|am|über)|nur (?:noch )?(?:lesen|lesend|gelesen|anschauen|angucken)|(?:lesen|anschauen) ja, (?:schreiben|ändern|anfassen)`,
      { not: /(?<!\p{L})(?:ich|fehler|bildschirm|war|hatte|app|rechner|see|nicht speichern)(?!\p{L})/u },
    ),

    order(
      'default: from now on',
      String.raw`(?:ab (?:sofort|jetzt|heute|morgen|nächster woche|montag|dem \d+\.?\S*|kommende\p{L}*)|von (?:jetzt|nun|heute|hier) an|künftig|in zukunft|zukünftig|fortan|standardmäßig|im normalfall|im regelfall|bis auf weiteres|per default|wenn nicht anders \p{L}+,?|sofern nicht anders \p{L}+,?|(?:im zweifel|im zweifelsfall)|solange (?:ich|nichts)[^,]{3,50},|wenn ich nichts anderes sage,?|grundsätzlich|generell|für das ganze projekt|im ganzen projekt|projektweit) (?!(?:bin|werde|habe|will|möchte|ich|war|hatte)(?!\p{L}))\p{L}+`,
      {
        not: /(?<!\p{L})(?:ich (?:werde|bin|will|möchte|mache|habe)|\p{L}+e ich|bin ich|will ich|möchte ich|war|waren|hatte)(?!\p{L})/u,
      },
    ),
    anywhere(
      'default: from now on, inside',
      String.raw`(?:ab sofort|ab jetzt|von jetzt an|von nun an|künftig|bis auf weiteres|standardmäßig|der standard ist|sofern nicht anders|wenn nicht anders|außer ich sage|solange ich nichts)`,
      { not: /(?<!\p{L})(?:ich (?:werde|bin|will|möchte|mache|habe)|werde ich|bin ich|war|hatte)(?!\p{L})/u },
    ),

    anywhere(
      'polite: could you always',
      String.raw`(?:könntest|kannst|würdest|magst|könnten|würden|können|wärst|wären|wäre) (?:du|sie|ihr|es) (?:\S+ ){0,20}?${STANDING}(?!\p{L})`,
      { politeQuestion: true, not: /(?<!\p{L})(?:jetzt|heute|kurz|warum|wieso|nicht verstehen)(?!\p{L})/u },
    ),
    anywhere(
      'polite: it would be good if you',
      String.raw`(?:ich (?:fände|fänd|hätte|würde|wäre|möchte|bitte|wünsche|freue|erwarte|will)|es wäre|wäre|mir wäre|bitte|sei|seien sie|es hilft mir|hilft mir|tu mir den gefallen)(?: [^\s,]+){0,6}?,? (?:wenn|dass|darum|so)?,? ?(?:\S+ ){0,14}?${STANDING}(?!\p{L})`,
      {
        politeQuestion: true,
        not: /(?<!\p{L})(?:jetzt|heute|ich (?:schon|war|wäre gern|hätte gern einen|möchte nur|will nur|will schon|wollte)|schon immer|mal wieder|lass uns|für alle)(?!\p{L})/u,
      },
    ),
  ],
}
