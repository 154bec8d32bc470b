"""The papers this package rests on, and how their results are cited.

A citation is `cite("BBGN19", "Theorem 5.3")`; a label that is not listed here is a mistake and raises.
"""

from dataclasses import dataclass

from shuffledp.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """One publication and the labels in it that we use."""

    authors: str
    title: str
    venue: str
    labels: frozenset[str]


PAPERS: dict[str, Paper] = {
    "BBGN19": Paper(
        authors="Borja Balle, James Bell, Adrià Gascón, Kobbi Nissim",
        title="The Privacy Blanket of the Shuffle Model",
        venue="CRYPTO 2019; arXiv:1903.02837",
        labels=frozenset(
            {"Algorithm 1", "Algorithm 2", "Algorithm 3", "Figure 2", "Figure 3"}
            | {"Theorem 3.1", "Theorem 4.1", "Theorem 4.2", "Theorem 5.1", "Theorem 5.2", "Theorem 5.3"}
            | {"Corollary 4.1.1", "Corollary 5.3.1"}
            | {f"Lemma 4.{i}" for i in range(1, 6)}
            | {f"Lemma 5.{i}" for i in range(1, 9)}
            | {f"Lemma A.{i}" for i in range(1, 5)}
        ),
    ),
    "FMT21": Paper(
        authors="Vitaly Feldman, Audra McMillan, Kunal Talwar",
        title="Hiding Among the Clones: A Simple and Nearly Optimal Analysis of Privacy Amplification by Shuffling",
        venue="FOCS 2021, arXiv:2012.12803; and Stronger Privacy Amplification by Shuffling, SODA 2023, arXiv:2208.04591",
        labels=frozenset({"clones"}),
    ),
    "WCLZ24": Paper(
        authors="Shaowei Wang and coauthors",
        title="Privacy Amplification via Shuffling: Unified, Simplified, and Tightened",
        venue="VLDB 2024; arXiv:2304.05007",
        labels=frozenset({"variation ratio"}),
    ),
    "EFMRTT19": Paper(
        authors="Úlfar Erlingsson, Vitaly Feldman, Ilya Mironov, Ananth Raghunathan, Kunal Talwar, Abhradeep Thakurta",
        title="Amplification by Shuffling: From Local to Central Differential Privacy via Anonymity",
        venue="SODA 2019; arXiv:1811.12469",
        labels=frozenset({"as stated in BBGN19, Theorem 5.1"}),
    ),
    "Fieller54": Paper(
        authors="Edgar C. Fieller",
        title="Some Problems in Interval Estimation",
        venue="Journal of the Royal Statistical Society B 16, 1954",
        labels=frozenset(),
    ),
    "FNNT22": Paper(
        authors="Vitaly Feldman, Jelani Nelson, Huy Nguyen, Kunal Talwar",
        title="Private Frequency Estimation via Projective Geometry",
        venue="ICML 2022; arXiv:2203.00194",
        labels=frozenset(),
    ),
    "WBLJ17": Paper(
        authors="Tianhao Wang, Jeremiah Blocki, Ninghui Li, Somesh Jha",
        title="Locally Differentially Private Protocols for Frequency Estimation",
        venue="USENIX Security 2017; arXiv:1705.04421",
        labels=frozenset(),
    ),
    "WDX20": Paper(
        authors="Tianhao Wang, Bolin Ding, Min Xu, Zhicong Huang, Cheng Hong, Jingren Zhou, Ninghui Li, Somesh Jha",
        title="Improving Utility and Security of the Shuffler-based Differential Privacy",
        venue="VLDB 2020; arXiv:1908.11515",
        labels=frozenset(),
    ),
    "BDFKR18": Paper(
        authors="Abhishek Bhowmick, John Duchi, Julien Freudiger, Gaurav Kapoor, Ryan Rogers",
        title="Protection Against Reconstruction and Its Applications in Private Federated Learning",
        venue="arXiv:1812.00984",
        labels=frozenset(),
    ),
    "FT21": Paper(
        authors="Vitaly Feldman, Kunal Talwar",
        title="Lossless Compression of Efficient Private Local Randomizers",
        venue="ICML 2021; arXiv:2102.12099",
        labels=frozenset(),
    ),
    "ICOWN23": Paper(
        authors="Berivan Isik, Wei-Ning Chen, Ayfer Özgür, Tsachy Weissman, Albert No",
        title="Exact Optimality of Communication-Privacy-Utility Tradeoffs in Distributed Mean Estimation",
        venue="NeurIPS 2023; arXiv:2306.04924",
        labels=frozenset(),
    ),
    "BW18": Paper(
        authors="Borja Balle, Yu-Xiang Wang",
        title="Improving the Gaussian Mechanism for Differential Privacy",
        venue="ICML 2018; arXiv:1805.06530",
        labels=frozenset(),
    ),
    "ASZ19": Paper(
        authors="Jayadev Acharya, Ziteng Sun, Huanyu Zhang",
        title="Hadamard Response: Estimating Distributions Privately, Efficiently, and with Little Communication",
        venue="AISTATS 2019; arXiv:1802.04705",
        labels=frozenset(),
    ),
    "YB18": Paper(
        authors="Min Ye, Alexander Barg",
        title="Optimal Schemes for Discrete Distribution Estimation under Locally Differential Privacy",
        venue="IEEE Transactions on Information Theory 64(8), 2018; arXiv:1702.00610",
        labels=frozenset(),
    ),
    "BNST17": Paper(
        authors="Raef Bassily, Kobbi Nissim, Uri Stemmer, Abhradeep Thakurta",
        title="Practical Locally Private Heavy Hitters",
        venue="NeurIPS 2017; arXiv:1707.04982",
        labels=frozenset(),
    ),
    "WLJ21": Paper(
        authors="Tianhao Wang, Ninghui Li, Somesh Jha",
        title="Locally Differentially Private Heavy Hitter Identification",
        venue="IEEE Transactions on Dependable and Secure Computing 18 (2021); arXiv:1708.06674",
        labels=frozenset(),
    ),
    "CKS19": Paper(
        authors="Graham Cormode, Tejas Kulkarni, Divesh Srivastava",
        title="Answering Range Queries Under Local Differential Privacy",
        venue="VLDB 2019; arXiv:1812.10942",
        labels=frozenset(),
    ),
    "RAPPOR14": Paper(
        authors="Úlfar Erlingsson, Vasyl Pihur, Aleksandra Korolova",
        title="RAPPOR: Randomized Aggregatable Privacy-Preserving Ordinal Response",
        venue="CCS 2014; arXiv:1407.6981",
        labels=frozenset(),
    ),
    "DKY17": Paper(
        authors="Bolin Ding, Janardhan Kulkarni, Sergey Yekhanin",
        title="Collecting Telemetry Data Privately",
        venue="NeurIPS 2017; arXiv:1712.01524",
        labels=frozenset(),
    ),
    "Apple17": Paper(
        authors="Differential Privacy Team, Apple",
        title="Learning with Privacy at Scale",
        venue="Apple Machine Learning Journal 1(8), 2017",
        labels=frozenset(),
    ),
    "CSUZZ19": Paper(
        authors="Albert Cheu, Adam Smith, Jonathan Ullman, David Zeber, Maxim Zhilyaev",
        title="Distributed Differential Privacy via Shuffling",
        venue="EUROCRYPT 2019; arXiv:1808.01394",
        labels=frozenset(),
    ),
    "IKOS06": Paper(
        authors="Yuval Ishai, Eyal Kushilevitz, Rafail Ostrovsky, Amit Sahai",
        title="Cryptography from Anonymity",
        venue="FOCS 2006; with the analysis of Balle, Bell, Gascón, Nissim, Private Summation in the Multi-Message Shuffle "
        "Model, CCS 2020, arXiv:2002.00817",
        labels=frozenset(),
    ),
    "LWY22": Paper(
        authors="Qiyao Luo, Yilei Wang, Ke Yi",
        title="Frequency Estimation in the Shuffle Model with Almost a Single Message",
        venue="CCS 2022; arXiv:2111.06833",
        labels=frozenset(),
    ),
    "GGKPV21": Paper(
        authors="Badih Ghazi, Noah Golowich, Ravi Kumar, Rasmus Pagh, Ameya Velingker",
        title="On the Power of Multiple Anonymous Messages: Frequency Estimation and Selection in the Shuffle Model of "
        "Differential Privacy",
        venue="EUROCRYPT 2021; arXiv:1908.11358",
        labels=frozenset(),
    ),
    "DMNS06": Paper(
        authors="Cynthia Dwork, Frank McSherry, Kobbi Nissim, Adam Smith",
        title="Calibrating Noise to Sensitivity in Private Data Analysis",
        venue="TCC 2006",
        labels=frozenset(),
    ),
    "CKS20": Paper(
        authors="Clément Canonne, Gautam Kamath, Thomas Steinke",
        title="The Discrete Gaussian for Differential Privacy",
        venue="NeurIPS 2020; arXiv:2004.00010",
        labels=frozenset({"Algorithm 1", "Algorithm 2"}),
    ),
    "MSE25": Paper(
        authors="Takao Murakami, Yuichi Sei, Reo Eriguchi",
        title="Augmented Shuffle Protocols for Accurate and Robust Frequency Estimation under Differential Privacy",
        venue="IEEE Symposium on Security and Privacy 2025; arXiv:2504.07362",
        labels=frozenset({"SAGeo", "S1Geo"}),
    ),
}


def cite(paper: str, *labels: str) -> str:
    """A citation, checked against the list above.

    >>> cite("BBGN19", "Lemma 5.3", "Lemma 5.5")
    'BBGN19, Lemma 5.3 with Lemma 5.5'
    """
    if paper not in PAPERS or not PAPERS[paper].labels.issuperset(labels):
        raise InvalidInput(f"{paper}, {labels} is not in the reference list. Add it to shuffledp.references.")
    return f"{paper}, {' with '.join(labels)}" if labels else paper
