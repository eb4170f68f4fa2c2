"""How answers decline, language by language: patterns looked for in an opening sentence. Data only."""

from __future__ import annotations

import re


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_SOURCES = (
    r"(?:search(?:es)?|results?|documents?|files?|sources?|context|passages?|materials?|texts?|articles?|pages?|"
    r"records?|excerpts?|knowledge(?: base)?|database|data|index|information)"
)
_GIVEN = r"(?:indexed|provided|available|retrieved|given|supplied|uploaded|attached|above|current|search|these|my|your)"
_START = (
    r"^\W*(?:(?:unfortunately|sorry|regrettably|currently|so far|however|well|i'm afraid)\b[\s,]*(?:but|that)?\s*)?"
)
_SORRY = (
    r"^\W*(?:(?:i'm sorry|i am sorry|sorry|i apologi[sz]e|unfortunately|honestly|well|as an? \w+)\b[^.?!\"]{0,40}?)?"
)
_NO_WHAT = (
    r"(?:information|results?|sources?|mention|details|matches|documents?|"
    r"biograph(?:y|ical)|entry|entries|answer)"
)

REFUSALS: dict[str, re.Pattern[str]] = {
    "en": _any(
        # first person: cannot, could not find; do not have, know
        r"^[^.?!\"]{0,120}?\b(?:i|we)(?:'m| am| was| were)?\b[^.?!\"]{0,30}?\b(?:cannot|can't|can not|"
        r"couldn't|could not|"
        r"unable|not able|wasn't able|won't be able|failed|won't|will not)\b[^.?!\"]{0,25}?\b(?:find|"
        r"provide|locate|answer|"
        r"give|help|assist|offer|share|write|generate|identify|discuss|tell you|create|comply|fulfill|determine)\b",
        r"^[^.?!\"]{0,120}?\bi (?:do not|don't|did not|didn't)(?: \w+){0,2}? (?:have|possess|find|"
        r"hold)\b(?! access to (?:current|real|up|live|the internet|recent))[^.?!\"]{0,40}?\b"
        r"(?:information|knowledge|records?|details|data|idea|enough|anything|answers?)\b",
        _SORRY + r"\bi (?:have no|do not know|don't know|am not familiar|am not aware|am not sure who)\b",
        _SORRY + r"\bi'm not (?:familiar|aware|sure (?:who|what|which))\b",
        r"^[^.?!\"]{0,60}?\bi (?:must|have to) decline\b",
        # nothing there
        _START + r"(?:there (?:is|are|was|were|seems? to be|appears? to be|exists?)\s+)?(?:currently )?"
        rf"(?:no|not any|not enough|insufficient)\s+(?:\w+\s+){{0,3}}?{_NO_WHAT}\b(?!\s+(?:theory|age|technology))",
        rf"\b(?:is|are|was|were) not (?:mentioned|included|found|covered|listed|discussed|contained|"
        rf"provided)(?: anywhere)? "
        rf"in (?:any of )?(?:the )?(?:{_GIVEN} )+{_SOURCES}\b",
        # the sources are about something else, or lack it
        _START + rf"(?:none of )?the (?:{_GIVEN} ){{1,2}}{_SOURCES}(?: {_SOURCES})?\b[^.?!]{{0,120}}?"
        r"\b(?:not|no|nothing|don't|doesn't|lacks?|without|only (?:mentions?|provides?|contains?|lists?))\b",
        _START + rf"the (?:{_GIVEN} ){{1,2}}{_SOURCES}(?: {_SOURCES})? (?:is|are) (?:about|related)\b",
        _START + rf"none of the (?:{_GIVEN} ){{0,2}}{_SOURCES}\b",
        # counter-questions
        r"^[^.?!\"]{0,60}?\b(?:could|can|would) you (?:please )?(?:provide|give|tell|share|clarify|"
        r"specify|be more)\b",
        r"^\W*please (?:provide|give|specify|clarify|share)\b[^.?!]{0,40}\b(?:more|further|additional|"
        r"which|what|who)\b",
        r"^\W*there seems to be a (?:mistake|typo|misspelling)\b",
    ),
    "de": _any(
        r"^[^.?!]{0,80}?\bich (?:kann|konnte|habe|besitze|verfüge|weiß|bin)"
        r"\b[^.?!]{0,90}?\b(?:keine[nr]?|nicht|leider nicht)\b",
        r"^[^.?!]{0,60}?\b(?:kann|konnte|habe|weiß) ich\b[^.?!]{0,90}?\b(?:keine[nr]?|nicht)\b",
        r"^\W*(?:leider\s+)?(?:gibt es|es gibt|es liegen|liegen|es wurden|wurden|es sind|sind)"
        r"\b[^.?!]{0,40}?\bkeine\b[^.?!]{0,30}?"
        r"\b(?:informationen|angaben|daten|ergebnisse|quellen|treffer|hinweise)\b",
        r"^\W*(?:leider\s+)?keine\s+(?:\w+\s+)?(?:informationen|angaben|daten|ergebnisse|quellen|treffer)\b",
        r"^\W*(?:leider\s+)?(?:enthalten\s+)?(?:die|den|der|das|in den)\s+(?:\w+en\s+|"
        r"bereitgestellten\s+)(?:dateien|dokumente[n]?|quellen|"
        r"suchergebnisse[n]?|texte[n]?|unterlagen|informationen|daten|kontext)"
        r"\b[^.?!]{0,120}?\b(?:nicht|keine[nr]?|kein|fehlt)\b",
        r"^[^.?!]{0,40}?\bkönn(?:t|t?en) (?:du|ihr|sie)\b[^.?!]{0,60}?\b(?:mehr|weitere|genauer|nähere)\b",
    ),
    "fr": _any(
        r"^[^.?!]{0,80}?\bje (?:ne (?:peux|puis|pourrais|suis|dispose|trouve|connais|sais|possède|"
        r"parviens)|n'ai|n'arrive)\b"
        r"[^.?!]{0,60}?\b(?:pas|aucune?|rien)\b",
        r"^\W*(?:malheureusement\W+)?(?:il n'(?:y a|existe)|aucune?)\b[^.?!]{0,40}?\b(?:informations?|"
        r"résultats?|sources?|données?|"
        r"renseignements?)\b",
        r"^\W*(?:malheureusement\W+)?les (?:\w+ ){0,2}?(?:sources|documents|fichiers|résultats|"
        r"informations|textes)\b[^.?!]{0,80}?"
        r"\b(?:ne|n')\s?\w+[^.?!]{0,20}?\b(?:pas|aucune?|rien)\b",
        r"^[^.?!]{0,40}?\b(?:pourriez|pouvez)-vous\b[^.?!]{0,40}?\b(?:plus|préciser|davantage)\b",
    ),
    "es": _any(
        r"^[^.?!]{0,80}?\bno (?:puedo|pude|he podido|tengo|dispongo|encuentro|encontré|he encontrado|"
        r"conozco|sé|cuento)\b",
        r"^\W*(?:lamentablemente\W+|desafortunadamente\W+)?no (?:hay|existe|existen|se (?:encontr\w+|"
        r"dispone))\b[^.?!]{0,40}?"
        r"\b(?:informaci\w+|resultados?|datos|fuentes|registros?)\b",
        r"^\W*(?:lamentablemente\W+|desafortunadamente\W+)?(?:los|las) (?:\w+ ){0,2}?(?:fuentes|"
        r"documentos|archivos|resultados|textos)\b"
        r"[^.?!]{0,80}?\b(?:no|ningun[oa]?|ningún)\b",
        r"^[^.?!]{0,40}?\b(?:podrías?|puedes?|podría usted)\b[^.?!]{0,40}?\b(?:más|detalles|aclarar|especificar)\b",
    ),
    "it": _any(
        r"^[^.?!]{0,80}?\bnon (?:posso|ho|sono (?:in grado|riuscit[oa]|a conoscenza)|riesco|trovo|"
        r"dispongo|conosco|so chi)\b",
        r"^\W*(?:purtroppo\W+)?(?:non (?:ci sono|esistono|c'è|sono disponibili)|nessuna?)\b[^.?!]{0,40}?"
        r"\b(?:informazion[ei]|risultat[oi]|dati|font[ei])\b",
        r"^\W*(?:purtroppo\W+)?(?:i|le|gli) (?:\w+ ){0,2}?(?:fonti|documenti|file|risultati|testi)"
        r"\b[^.?!]{0,80}?\b(?:non|nessuna?)\b",
        r"^[^.?!]{0,40}?\b(?:potresti|potrebbe|puoi)\b[^.?!]{0,40}?\b(?:più|maggiori|ulteriori|"
        r"specificare|chiarire)\b",
    ),
    "pt": _any(
        r"^[^.?!]{0,80}?\bnão (?:posso|pude|consigo|consegui|tenho|disponho|encontrei|encontro|"
        r"conheço|sei quem|foi possível)\b",
        r"^\W*(?:infelizmente\W+)?não (?:há|existem?|foram encontrad\w+)"
        r"\b[^.?!]{0,40}?\b(?:informaç\w+|resultados?|dados|fontes|registros?)\b",
        r"^\W*(?:infelizmente\W+)?(?:os|as) (?:\w+ ){0,2}?(?:fontes|documentos|arquivos|ficheiros|"
        r"resultados|textos)\b[^.?!]{0,80}?"
        r"\b(?:não|nenhuma?)\b",
        r"^[^.?!]{0,40}?\b(?:poderia|pode|podes)\b[^.?!]{0,40}?\b(?:mais|esclarecer|especificar)\b[^.!]{0,60}\?",
    ),
    "nl": _any(
        r"^[^.?!]{0,80}?\bik (?:kan|kon|heb|ben|weet|beschik)\b[^.?!]{0,90}?\b(?:geen|niet)\b",
        r"^[^.?!]{0,40}?\b(?:kan|kon|heb) ik\b[^.?!]{0,90}?\b(?:geen|niet)\b",
        r"^\W*(?:helaas\s+)?(?:er (?:is|zijn)|is er|zijn er)"
        r"\b[^.?!]{0,30}?\bgeen\b[^.?!]{0,30}?\b(?:informatie|resultaten|gegevens|bronnen)\b",
        r"^\W*(?:helaas\s+)?de (?:\w+ ){1,2}?(?:bestanden|documenten|bronnen|zoekresultaten|teksten)"
        r"\b[^.?!]{0,80}?\b(?:geen|niet)\b",
        r"^[^.?!]{0,40}?\b(?:kunt|kun|zou) (?:u|je)\b[^.?!]{0,40}?\b(?:meer|verduidelijken|specifieker)\b",
    ),
    "zh": _any(
        r"^.{0,20}?我?(?:无法|無法|不能|没能|沒能|未能)(?:提供|找到|回答|查到|确定|確定|给出|給出|"
        r"帮助|幫助|查询|查詢)",
        r"^.{0,20}?我?(?:没有|沒有|并没有|並沒有|未)(?:找到|查到|检索到|檢索到|关于|關於|任何|足够|"
        r"足夠|相关|相關).{0,30}?(?:信息|資訊|资料|資料|記錄|记录|内容|內容)",
        r"^.{0,10}?(?:我不知道|我不了解|我不清楚|我不认识|我不認識)",
        r"^.{0,6}?(?:提供的|现有的?|現有的?|检索到的|檢索到的|搜索|索引的).{0,12}?(?:文件|文档|文檔|"
        r"资料|資料|结果|結果|来源|來源).{0,40}?(?:没有|沒有|未|并无|並無|不包含)",
        r"^.{0,10}?(?:请|請)(?:您|你)?(?:提供|说明|說明).{0,6}?(?:更多|更详细|更詳細)",
    ),
    "ja": _any(
        r"^.{0,80}?(?:情報|資料|記録|データ|該当).{0,12}?(?:見つかりません|ありません|見当たりません|"
        r"持っていません|得られません|ございません)",
        r"^.{0,80}?(?:お答え|回答|提供|お手伝い|ご案内|説明)(?:する(?:こと)?|を)?.{0,6}?(?:できません|"
        r"できかねます|いたしかねます|出来ません)",
        r"^.{0,60}?(?:わかりません|分かりません|存じません|存じ上げません)",
        r"^.{0,60}?(?:詳しい|詳細|もう少し|追加の).{0,20}?(?:教えて|お知らせ|ご提供)"
        r".{0,6}?(?:ください|いただけ|もらえ)",
    ),
    "ar": _any(
        r"^.{0,40}?(?:لا أستطيع|لا يمكنني|لم أتمكن|لم أجد|لا أملك|ليس لدي|لا أعرف|لا تتوفر لدي|لم أعثر|لست قادرا)",
        r"^.{0,20}?(?:لا توجد|لا تتوفر|لا تتوافر|لم يتم العثور).{0,20}?(?:معلومات|نتائج|بيانات|مصادر)",
        r"^.{0,12}?(?:المصادر|الملفات|الوثائق|المستندات|نتائج البحث).{0,60}?(?:لا |لم |ليس|دون)",
        r"^.{0,20}?هل يمكنك.{0,30}?(?:المزيد|توضيح|تفاصيل)",
    ),
    "ru": _any(
        r"^[^.?!]{0,60}?\bя не (?:могу|смог|смогла|нашёл|нашел|нашла|знаю|располагаю|имею|обладаю|знаком[а]?)\b",
        r"^[^.?!]{0,60}?\bу меня нет\b",
        r"^[^.?!]{0,30}?\bне удалось найти\b",
        r"^\W*(?:к сожалению\W+)?(?:нет|отсутству\w+|не найдено)\b[^.?!]{0,30}?\b(?:информаци\w+|"
        r"данных|сведени\w+|результатов)\b",
        r"^\W*(?:к сожалению\W+)?(?:в )?(?:предоставленны[ех]|доступны[ех]|найденны[ех]|указанны[ех]|"
        r"индексированны[ех])\b[^.?!]{0,100}?"
        r"\b(?:не|нет|отсутству\w+)\b",
        r"^[^.?!]{0,40}?\b(?:не могли бы вы|можете ли вы|уточните)\b",
    ),
}
"""Matched in the opening sentence, citation marks removed and curly quotes made straight."""

ASPECTS = _any(
    r"\b(?:births?|birthdays?|births?place|deaths?|dates?|childhood|early life|famil(?:y|ies)|parents|"
    r"spouse|wife|husband|"
    r"children|marriages?|education|height|net worth|burial|salary|whereabouts)\b",
    r"\b(?:geburt\w*|tod\w*|familie|kindheit|eltern|ausbildung)\b",
    r"\b(?:naissance|mort|décès|famille|enfance|nacimiento|muerte|familia|infancia|nascita|morte|famiglia|infanzia|"
    r"nascimento|família|infância|geboorte\w*|dood|overlijden|jeugd)\b",
    r"出生|死亡|去世|家庭|童年|死因|生年月日|家族|وفاة|وفاته|ولادته|عائلته|рождени\w+|смерт\w+|"
    r"семь[еяи]\w*|детств\w+",
)
"""One side of a life: a sentence that lacks only this, in an answer of several sentences, is no abstention."""

APOLOGY = _any(
    r"\b(?:sorry|apologi\w+|apologies|leid|entschuldigung|désolée?|lo siento|lo lamento|mi dispiace|"
    r"desculp\w+|spijt)\b",
    r"抱歉|对不起|對不起|申し訳|すみません|عذر|آسف|أعتذر|извините|простите",
)
"""A whole answer of a few words with one of these declines, whatever else it says."""

PRELUDES = _any(
    r"^\W*(?:hi|hello|hey|sure|thank you|thanks|good (?:day|morning|evening)|(?:i'm|i am|we are|we're)"
    r" (?:so |very |really )?sorry|"
    r"sorry|(?:i|we) apologi[sz]e|(?:my )?apologies|pardon|as an? (?:ai|large|language)|unfortunately|"
    r"there (?:are|may be|could be) (?:many|several|multiple|a number of) (?:people|individuals|persons|possible))\b",
    r"^\W*(?:es tut mir (?:sehr )?leid|tut mir leid|entschuldigung|verzeihung|hallo|leider|als ki)\b",
    r"^\W*(?:désolée?|je suis (?:vraiment )?désolée?|je m'excuse|bonjour|malheureusement|en tant qu'ia)\b",
    r"^\W*(?:lo siento|lo lamento|disculp\w+|perdón|hola|lamentablemente|desafortunadamente|como (?:modelo|ia))\b",
    r"^\W*(?:mi dispiace|mi spiace|scusa\w*|ciao|purtroppo|in quanto ia|desculp\w+|sinto muito|"
    r"lamento|olá|infelizmente)\b",
    r"^\W*(?:het spijt me|sorry|helaas|excuses|hallo)\b",
    r"^\W*(?:抱歉|对不起|對不起|很抱歉|非常抱歉|您好|你好|遗憾|申し訳|すみません|恐れ入り|残念ながら|"
    r"ごめんなさい|آسف|عذرا|عذرًا|أعتذر|للأسف|مرحبا)",
    r"^\W*(?:извините|простите|к сожалению|прошу прощения|здравствуйте|как (?:языковая|ии))",
)
"""Openings that greet or apologise and say nothing else: the next sentence is looked at too."""

NO_BIOGRAPHY = _any(
    r"\bthere is no information(?: \w+)? (?:on|about|regarding|of|for)\b[^.?!]{0,80}?\b(?:biography|bio)\b",
)
"""Says of the thing asked for, wherever it stands, that there is none."""

EMPTY_WORDS = _any(r"n/?a\W*", r"(?:none|null|unknown|no answer|no response|no information|nothing)\W*")
"""A whole answer that says nothing."""
